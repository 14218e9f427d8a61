/** The codes that a host meets. The memory codes surface from 1.13 on; before, their errors were swallowed. */
export const ErrorCodes = {
  AK_CONFIG_INVALID: 'AK_CONFIG_INVALID',
  AK_TOOL_NOT_FOUND: 'AK_TOOL_NOT_FOUND',
  AK_TOOL_INVALID_INPUT: 'AK_TOOL_INVALID_INPUT',
  AK_TOOL_FORBIDDEN: 'AK_TOOL_FORBIDDEN',
  AK_ACTION_NOT_FOUND: 'AK_ACTION_NOT_FOUND',
  AK_ACTION_ALREADY_DECIDED: 'AK_ACTION_ALREADY_DECIDED',
  AK_MEMORY_LOAD_FAILED: 'AK_MEMORY_LOAD_FAILED',
  AK_MEMORY_SAVE_FAILED: 'AK_MEMORY_SAVE_FAILED',
  AK_MEMORY_CLEAR_FAILED: 'AK_MEMORY_CLEAR_FAILED',
  AK_MEMORY_DESERIALIZE_FAILED: 'AK_MEMORY_DESERIALIZE_FAILED',
} as const
export type ErrorCode = (typeof ErrorCodes)[keyof typeof ErrorCodes]

export interface AgentsKitErrorOptions {
  readonly code: ErrorCode
  readonly message: string
  readonly cause?: unknown
}

export class AgentsKitError extends Error {
  override readonly name: string = 'AgentsKitError'
  readonly code: ErrorCode

  constructor({ code, message, cause }: AgentsKitErrorOptions) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

export class ConfigError extends AgentsKitError {
  override readonly name = 'ConfigError'
}

export class ToolError extends AgentsKitError {
  override readonly name = 'ToolError'
}

export class MemoryError extends AgentsKitError {
  override readonly name = 'MemoryError'
}

/** What memory threw, as the error that the state shows; one that is typed already stays as it is. */
export function memoryError(code: ErrorCode, cause: unknown): MemoryError {
  return cause instanceof MemoryError ? cause : new MemoryError({ code, message: MEMORY_MESSAGES[code] ?? code, cause })
}

const MEMORY_MESSAGES: Partial<Record<ErrorCode, string>> = {
  AK_MEMORY_LOAD_FAILED: 'The chat memory could not be loaded.',
  AK_MEMORY_SAVE_FAILED: 'The chat memory could not be saved.',
  AK_MEMORY_CLEAR_FAILED: 'The chat memory could not be cleared.',
}
