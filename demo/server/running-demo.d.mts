export declare function noteRunning(folder: string, url: string): Promise<() => Promise<void>>
export declare function findRunning(folder: string): Promise<{ readonly pid: number; readonly url: string } | undefined>
