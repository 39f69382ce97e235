/** The form that limits the calls of a route. */
import { useState } from 'preact/hooks'
import type { RouteRow } from '../../../views.ts'
import { argumentsOf, draftOf, fieldIn } from '../operation-fields.ts'
import { Field } from '../parts/form.tsx'
import { text } from '../texts.ts'
import { ChangeForm } from './change-form.tsx'

interface LimitRouteProps {
  readonly route: RouteRow
  onClose(): void
  onLive(): void
}
const MEMBERS = ['requests', 'tokens', 'concurrency'] as const
const FIELDS = ['requests=text', 'tokens=text', 'concurrency=number'].map(fieldIn)
const LABELS = {
  requests: ['keys.requests', '60/min'],
  tokens: ['account.tokens', '100000/min'],
  concurrency: ['keys.concurrency', '5'],
} as const

const LimitRoute = ({ route: { name, options }, onClose, onLive }: LimitRouteProps) => {
  const [before] = useState(() => (options.limit ?? {}) as object)
  const [draft, setDraft] = useState(() => draftOf(FIELDS, before))
  return (
    <ChangeForm
      title={text('change.limit.title', { name })}
      operation="limit"
      body={{ route: name, ...argumentsOf(FIELDS, draft, before) }}
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
              value={draft[member] ?? ''}
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
