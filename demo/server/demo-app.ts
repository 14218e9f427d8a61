import type { ServerOptions } from 'rejoin-server'

/** The app of the sync server, to which the demo adds its routes. */
export type DemoApp = Parameters<NonNullable<ServerOptions['extend']>>[0]
