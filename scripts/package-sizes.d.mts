export interface PackageSize {
  readonly entry: string
  readonly bytes: number
  readonly maxBytes: number
  readonly goalBytes: number
}

export declare const SIZES_ARE: string
export declare function packageSizes(): Promise<PackageSize[]>
export declare function sizeLine(size: PackageSize): string
