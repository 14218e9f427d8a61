export interface ReportedTest {
  readonly name: string
  /** Relative to the repository. */
  readonly file: string
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly environment: string
  readonly durationMs: number
  readonly error?: string
  /** Why it was skipped. */
  readonly reason?: string
}

export declare class TestReport {
  constructor(file: string, options?: { readonly narrowed: boolean })
  readonly ok: boolean
  onTestRunEnd(modules: readonly unknown[], unhandledErrors: readonly unknown[]): void
  addError(name: string, error: unknown): void
  finish(): void
}
