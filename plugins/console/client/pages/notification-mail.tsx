/** The mail address of an account: saved, confirmed by the code that is sent to it, and removed. */
import { useState } from 'preact/hooks'
import type { NotificationSettings } from '../../../views.ts'
import { callData } from '../api.ts'
import { type Loaded, useAction } from '../loading.ts'
import { Field, Form, useUnsaved } from '../parts/form.tsx'
import { toast } from '../parts/toast.tsx'
import { text } from '../texts.ts'

interface MailProps {
  readonly saved: NotificationSettings
  readonly of: Loaded<unknown>
}
export const Mail = ({ saved, of }: MailProps) => {
  const [address, setAddress] = useState(saved.mail ?? '')
  const isChanged = address.trim() !== (saved.mail ?? '')
  useUnsaved(isChanged)
  const save = useAction(async () => {
    const mail = address.trim() || null
    await callData<NotificationSettings>('PUT', '/api/notifications', { mail })
    toast(text(mail ? 'notifications.mail.sent' : 'saved'))
    of.reload()
  })
  return (
    <section class="card" aria-label={text('notifications.mail')}>
      <h2>{text('notifications.mail')}</h2>
      <p class="muted">{text('notifications.mail.help')}</p>
      {saved.threshold === null && <p class="notice">{text('notifications.mail.threshold')}</p>}
      <Form action={save} submit={text('notifications.mail.save')} params={['mail']}>
        <Field
          label={text('notifications.mail.address')}
          help={text('notifications.mail.address.help')}
          value={address}
          onChange={setAddress}
          type="email"
          param="mail"
          error={save.error}
          placeholder="ops@example.com"
        />
        {isChanged && <p class="small muted">{text('unsaved')}</p>}
      </Form>
      {saved.mail && saved.mail_confirmed && (
        <p class="notice ok">{text('notifications.mail.confirmed')}</p>
      )}
      {saved.mail && !saved.mail_confirmed && <Confirmation of={of} />}
    </section>
  )
}

const Confirmation = ({ of }: Pick<MailProps, 'of'>) => {
  const [code, setCode] = useState('')
  const confirm = useAction(async () => {
    const body = { mail_code: code }
    await callData<NotificationSettings>('PUT', '/api/notifications', body)
    toast(text('saved'))
    of.reload()
  })
  return (
    <Form action={confirm} submit={text('notifications.mail.confirm')} params={['mail_code']}>
      <Field
        label={text('notifications.mail.code')}
        help={text('notifications.mail.code.help')}
        value={code}
        onChange={setCode}
        param="mail_code"
        error={confirm.error}
      />
    </Form>
  )
}
