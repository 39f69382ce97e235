/** Notification settings: the webhook's URL, the balance threshold and the mail address. */
import { useState } from 'preact/hooks'
import type { NotificationSettings, OwnDelivery, TestDelivery } from '../../../views.ts'
import { call, callData } from '../api.ts'
import { type Loaded, useAction, useData } from '../loading.ts'
import { Confirm, Field, Form, useUnsaved } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { View } from '../parts/states.tsx'
import { TableBox } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Secret, State, Time, useCurrency } from '../parts/values.tsx'
import { text } from '../texts.ts'
import { Mail } from './notification-mail.tsx'

const Notifications = () => {
  const settings = useData<{ data: NotificationSettings }>('/api/notifications')
  return (
    <>
      <PageHead title={text('page.notifications')} />
      <View of={settings} rows={6}>
        {({ data }) => (
          <>
            <Editor saved={data} of={settings} />
            <Deliveries name={text('notifications.deliveries')} list={data.deliveries} />
            {(data.can_mail || data.mail) && <Mail saved={data} of={settings} />}
            <Deliveries name={text('notifications.mails')} list={data.mails} />
          </>
        )}
      </View>
    </>
  )
}
export default Notifications

/** `changes`: the differences from the saved settings. Changes by another window meanwhile stay. */
const useDraft = (saved: NotificationSettings) => {
  const [base, setBase] = useState(saved)
  const [url, setUrl] = useState(saved.url ?? '')
  const [threshold, setThreshold] = useState(saved.threshold ?? '')
  const changes = {
    ...(url !== (base.url ?? '') && { url: url.trim() || null }),
    ...(threshold !== (base.threshold ?? '') && { threshold: threshold.trim() || null }),
  }
  const keep = (after: NotificationSettings) => {
    setBase(after)
    setUrl(after.url ?? '')
    setThreshold(after.threshold ?? '')
  }
  return { url, setUrl, threshold, setThreshold, changes, keep }
}

const Editor = ({ saved, of }: { saved: NotificationSettings; of: Loaded<unknown> }) => {
  const currency = useCurrency()
  const { url, setUrl, threshold, setThreshold, changes, keep } = useDraft(saved)
  const [secret, setSecret] = useState<string>()
  const [result, setResult] = useState<TestDelivery>()
  const isChanged = Object.keys(changes).length > 0
  useUnsaved(isChanged)
  const saveAndTest = useAction(async () => {
    setResult(undefined)
    const after = await callData<NotificationSettings>('PUT', '/api/notifications', changes)
    keep(after)
    if (isWhole(after.secret)) setSecret(after.secret)
    if (after.url) setResult(await call<TestDelivery>('POST', '/api/notifications/test'))
    else toast(text('saved'))
    of.reload()
  })
  return (
    <>
      <section class="card" aria-label={text('notifications.webhook')}>
        <h2>{text('notifications.webhook')}</h2>
        <p class="muted">{text('notifications.help')}</p>
        {saved.disabled && <p class="notice error">{text('notifications.disabled')}</p>}
        <Form
          action={saveAndTest}
          submit={text('notifications.save')}
          params={['url', 'threshold']}
        >
          <Field
            label={text('notifications.url')}
            help={text('notifications.url.help')}
            value={url}
            onChange={setUrl}
            type="url"
            param="url"
            error={saveAndTest.error}
            placeholder="https://example.com/hooks?token=…"
          />
          <Field
            label={`${text('notifications.threshold')} (${currency})`}
            help={text('notifications.threshold.help')}
            value={threshold}
            onChange={setThreshold}
            param="threshold"
            error={saveAndTest.error}
          />
          {isChanged && <p class="small muted">{text('unsaved')}</p>}
        </Form>
        {saveAndTest.isBusy && <p role="status">{text('notifications.testing')}</p>}
        {result && <Result result={result} />}
        {secret && <Secret value={secret} help={text('notifications.secret.once')} />}
      </section>
      {saved.url && <SigningSecret saved={saved} onNew={setSecret} of={of} />}
    </>
  )
}
/** Only a new secret is whole; later it is shortened. */
const isWhole = (secret: string | null | undefined): secret is string =>
  secret?.startsWith('whsec_') === true && !secret.includes('…')

const Result = ({ result: { success, message, data } }: { result: TestDelivery }) => (
  <div class={`notice ${success ? 'ok' : 'error'}`} role="status" data-test-result>
    <p>
      <State state={data.state} />
      {data.status !== null && ` HTTP ${data.status}`}
    </p>
    <p>{message}</p>
  </div>
)

interface SigningSecretProps {
  readonly saved: NotificationSettings
  readonly of: Loaded<unknown>
  onNew(secret: string): void
}
const SigningSecret = ({ saved, of, onNew }: SigningSecretProps) => {
  const [isOpen, setOpen] = useState(false)
  const renew = useAction(async () => {
    const body = { secret: null }
    const { secret } = await callData<NotificationSettings>('PUT', '/api/notifications', body)
    if (secret) onNew(secret)
    setOpen(false)
    of.reload()
  })
  return (
    <section class="card" aria-label={text('notifications.secret')}>
      <div class="card-head">
        <h2>{text('notifications.secret')}</h2>
        <button type="button" class="button tiny" onClick={() => setOpen(true)}>
          {text('notifications.secret.renew')}
        </button>
      </div>
      <p>
        <code>{saved.secret}</code>
      </p>
      <p class="muted">{text('notifications.secret.help')}</p>
      {isOpen && (
        <Confirm
          title={text('notifications.secret.renew')}
          help={text('notifications.secret.confirm')}
          submit={text('notifications.secret.renew')}
          action={renew}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  )
}

interface DeliveriesProps {
  readonly name: string
  readonly list: readonly OwnDelivery[]
}
const Deliveries = ({ name, list }: DeliveriesProps) =>
  list.length > 0 && (
    <section class="card" aria-label={name}>
      <h2>{name}</h2>
      <TableBox name={name} hasAll>
        <table>
          <thead>
            <tr>
              <th scope="col">{text('column.time')}</th>
              <th scope="col">{text('column.state')}</th>
              <th scope="col" class="number wide-only">
                {text('notifications.attempts')}
              </th>
              <th scope="col">{text('notifications.last')}</th>
            </tr>
          </thead>
          <tbody>
            {list.map(({ id, created, state, attempts, message }) => (
              <tr key={id}>
                <td>
                  <Time at={created} />
                </td>
                <td>
                  <State state={state} />
                </td>
                <td class="number wide-only">{attempts}</td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </section>
  )
