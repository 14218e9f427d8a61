/** An error as a person can use it: what, and what to do. The code is for whoever they ask. */
export function ProblemNote({ problem, onDismiss }: { readonly problem: unknown; readonly onDismiss?: () => void }) {
  const { message, code, hint } = describe(problem)
  return (
    <div className="problem" role="alert" data-testid="problem" data-code={code}>
      <p>
        {message}
        {hint && <span className="problem-hint"> {hint}</span>}
        {code && <code> {code}</code>}
      </p>
      {onDismiss && (
        <button type="button" className="plain" onClick={onDismiss}>
          Dismiss
        </button>
      )}
    </div>
  )
}

function describe(problem: unknown): { message: string; code: string | undefined; hint: string | undefined } {
  const { code, hint } = (typeof problem === 'object' ? problem : undefined) as { code?: unknown; hint?: unknown }
  return {
    message: problem instanceof Error ? problem.message : String(problem),
    code: typeof code === 'string' ? code : undefined,
    hint: typeof hint === 'string' ? hint : undefined,
  }
}
