export declare const BROWSER_ARGS: string[]
export declare function findBrowser(): Promise<string>
