/** What the server counts, as Prometheus reads it. Labels never hold an id: there are too many, and they are private. */
export interface Metrics {
  readonly count: (name: CounterName, label?: string, by?: number) => void
  /** Read when the metrics are. */
  readonly gauge: (name: string, help: string, read: () => number) => void
  readonly render: () => string
}

const COUNTERS = {
  rejoin_requests_total: { help: 'Answered requests, by status class.', label: 'status' },
  rejoin_refusals_total: { help: 'Refused requests and closed sockets, by code.', label: 'code' },
  rejoin_claims_total: { help: 'Answered claims, by result.', label: 'result' },
  rejoin_commits_total: { help: 'Commits of the store.', label: undefined },
  rejoin_decisions_total: { help: 'Decisions that those commits made durable.', label: undefined },
} as const
type CounterName = keyof typeof COUNTERS

export function createMetrics(): Metrics {
  const counts = new Map<CounterName, Map<string, number>>()
  const gauges: { readonly name: string; readonly help: string; readonly read: () => number }[] = []

  function renderCounter(name: CounterName): string[] {
    const { help, label } = COUNTERS[name]
    const values = [...(counts.get(name) ?? (label ? [] : [['', 0] as const]))]
    const lines = values.map(([value, count]) => `${name}${label ? `{${label}="${value}"}` : ''} ${count}`)
    return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...lines]
  }

  return {
    count: (name, label = '', by = 1) => {
      const values = counts.get(name) ?? new Map<string, number>()
      counts.set(name, values.set(label, (values.get(label) ?? 0) + by))
    },
    gauge: (name, help, read) => {
      gauges.push({ name, help, read })
    },
    render: () => {
      const counters = (Object.keys(COUNTERS) as CounterName[]).flatMap(renderCounter)
      const read = gauges.flatMap((it) => [
        `# HELP ${it.name} ${it.help}`,
        `# TYPE ${it.name} gauge`,
        `${it.name} ${it.read()}`,
      ])
      return `${[...counters, ...read].join('\n')}\n`
    },
  }
}
