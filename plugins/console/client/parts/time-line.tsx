/** The events of a call, in order, with the time since it was accepted. */
import type { ComponentChildren } from 'preact'
import { formatNumber, formatTime } from '../format.ts'
import { text } from '../texts.ts'

export interface Step {
  readonly title: string
  /** ms since 1970; undefined: not known, or not yet. */
  readonly at?: number | undefined
  readonly detail?: ComponentChildren
  readonly tone?: 'ok' | 'warning' | 'error' | undefined
}
/** A clock of another machine may be behind. */
const sinceStart = (at: number, start: number): string =>
  `+${formatNumber(Math.max(0, at - start), 1)} ms`

export const TimeLine = ({ steps }: { steps: readonly Step[] }) => {
  const start = steps.find(({ at }) => at !== undefined)?.at ?? 0
  return (
    <section class="card" aria-label={text('call.time')}>
      <h2>{text('call.time')}</h2>
      <ol class="time-line">
        {steps.map(({ title, at, detail, tone = 'ok' }, index) => (
          <li key={index} class={at === undefined ? 'muted' : tone}>
            <span class="time-line-at">
              {at === undefined ? (
                <span class="muted">–</span>
              ) : (
                <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
                  {index === 0 ? formatTime(at) : sinceStart(at, start)}
                </time>
              )}
            </span>
            <span>
              <strong>{title}</strong>
              {detail !== undefined && <span class="muted"> {detail}</span>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
