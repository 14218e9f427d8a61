/**
 * What a host got wrong in a definition, an option or a token. Name and code are upstream's, so that code that handles
 * AgentsKit's `ConfigError` handles this one.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'AK_CONFIG_INVALID'
  /** The next move of whoever reads this, in one sentence. */
  readonly hint: string | undefined

  constructor(message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.hint = options.hint
  }
}
