/** The first call of an account: a key, and a request to paste. */
import type { PricedModel } from '../../../views.ts'
import { callData } from '../api.ts'
import { useAction, useData } from '../loading.ts'
import { Notice } from '../parts/form.tsx'
import { formatsOf, SnippetTabs } from '../parts/snippets.tsx'
import { Empty, FormError } from '../parts/states.tsx'
import { Secret } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

/** Without calls: one click makes a key and a call to paste. */
export const NoCalls = ({ onKey }: { onKey(secret: string): void }) => {
  const create = useAction(async () => {
    const body = { name: text('first.name') }
    onKey((await callData<{ key: string }>('POST', '/api/keys', body)).key)
  })
  return (
    <Empty title={text('overview.empty')} help={text('overview.empty.help')}>
      <div class="row">
        <button type="button" class="button primary" onClick={create.start}>
          {text('first.create')}
        </button>
        <a class="button" href={hrefOf('playground')}>
          {text('page.playground')}
        </a>
      </div>
      <FormError error={create.error} fields={[]} />
    </Empty>
  )
}
export const FirstCall = ({ secret, onClose }: { secret: string; onClose(): void }) => {
  const pricing = useData<{ data: readonly PricedModel[] }>('/api/pricing')
  const model = pricing.data?.data.find(
    each => !each.model_name.includes('*') && formatsOf(each).length > 0,
  )
  return (
    <Notice title={text('first.title')} onClose={onClose}>
      <Secret value={secret} help={text('keys.once')} />
      <p>{text('first.help')}</p>
      {model && <SnippetTabs model={model} secret={secret} />}
    </Notice>
  )
}
