import { type FormEvent, useId } from 'react'

export interface ComposerProps {
  readonly input: string
  readonly streaming: boolean
  /** Commands that lead on from the present state. */
  readonly commands: readonly string[]
  readonly onInput: (input: string) => void
  readonly onSend: (text: string) => void
  readonly onStop: () => void
  readonly onPropose: () => void
}

/**
 * Enter sends, Escape stops the answer. What cannot be used at the moment stays focusable, so that the focus is not
 * lost with each answer.
 */
export function Composer(props: ComposerProps) {
  const { input, streaming, commands, onInput, onSend, onStop, onPropose } = props
  const inputId = useId()

  function submit(event: FormEvent): void {
    event.preventDefault()
    const text = input.trim()
    if (text !== '' && !streaming) onSend(text)
  }

  return (
    <form className="composer" onSubmit={submit}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced before every button of a toolbar. */}
      <div className="commands" role="group" aria-label="Commands">
        {commands.map((command) => (
          <button
            key={command}
            type="button"
            className="chip"
            aria-disabled={streaming}
            data-testid={`command-${command.slice(1)}`}
            onClick={() => !streaming && onSend(command)}
          >
            {command}
          </button>
        ))}
        <button type="button" className="chip" data-testid="propose-refund" onClick={onPropose}>
          Propose refund
        </button>
      </div>
      <div className="composer-row">
        <label className="hidden" htmlFor={inputId}>
          Message
        </label>
        <input
          id={inputId}
          className="composer-input"
          value={input}
          placeholder="Write a message"
          autoComplete="off"
          maxLength={4000}
          data-testid="send-input"
          onChange={(event) => onInput(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape' && streaming) onStop()
          }}
        />
        <button
          type={streaming ? 'button' : 'submit'}
          className="primary"
          aria-disabled={!streaming && input.trim() === ''}
          data-testid={streaming ? 'stop' : 'send'}
          onClick={streaming ? onStop : undefined}
        >
          {streaming ? 'Stop' : 'Send'}
        </button>
      </div>
    </form>
  )
}
