import { ConfigError } from './config-error.ts'
import type { DeterministicRoute } from './conversation.ts'

export interface CommandRouteOptions extends Omit<DeterministicRoute, 'match'> {
  /** The whole input, exactly. */
  readonly command: string
}

/**
 * A route for one exact input, such as `/refund`.
 *
 * @throws ConfigError for an empty command.
 */
export function commandRoute({ command, ...route }: CommandRouteOptions): DeterministicRoute {
  if (command === '') throw new ConfigError('A command route needs a command.', { hint: 'Name the exact input.' })
  return { ...route, match: (input) => input === command }
}
