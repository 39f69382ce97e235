/** The form that limits the calls of a route. */
import { useState } from 'preact/hooks'
import type { Limits, RouteRow } from '../../../views.ts'
import { Field } from '../parts/form.tsx'
import { type LimitsDraft, limitsDraft } from '../parts/limits.tsx'
import { text } from '../texts.ts'
import { ChangeForm } from './change-form.tsx'

interface LimitRouteProps {
  readonly route: RouteRow
  onClose(): void
  onLive(): void
}
const MEMBERS = ['requests', 'tokens', 'concurrency'] as const
const LABELS = {
  requests: ['keys.requests', '60/min'],
  tokens: ['account.tokens', '100000/min'],
  concurrency: ['keys.concurrency', '5'],
} as const

const LimitRoute = ({ route: { name, options }, onClose, onLive }: LimitRouteProps) => {
  const [before] = useState(() => limitsDraft((options.limit ?? null) as Limits | null))
  const [draft, setDraft] = useState(before)
  return (
    <ChangeForm
      title={text('change.limit.title', { name })}
      operation="limit"
      body={{ route: name, ...changesIn(draft, before) }}
      params={MEMBERS}
      onClose={onClose}
      onLive={onLive}
    >
      {error => (
        <>
          <p class="small muted">{text('change.limit.help')}</p>
          {MEMBERS.map(member => (
            <Field
              key={member}
              label={text(LABELS[member][0])}
              value={draft[member]}
              placeholder={LABELS[member][1]}
              onChange={value => setDraft({ ...draft, [member]: value })}
              param={member}
              error={error}
            />
          ))}
        </>
      )}
    </ChangeForm>
  )
}
export default LimitRoute

const changesIn = (draft: LimitsDraft, before: LimitsDraft): object =>
  Object.fromEntries(
    MEMBERS.filter(name => draft[name] !== before[name]).map(name => [
      name,
      argumentOf(name, draft),
    ]),
  )
/** A text that is not a number is sent unchanged, for its error. */
const argumentOf = (name: (typeof MEMBERS)[number], draft: LimitsDraft): string | number =>
  name === 'concurrency' && /^\d+$/.test(draft[name]) ? Number(draft[name]) : draft[name]
