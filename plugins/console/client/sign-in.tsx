/** The sign-in page: a system token, or the secret of a one-time link in the address. */
import { useEffect, useState } from 'preact/hooks'
import type { SessionView } from '../../views.ts'
import { callData } from './api.ts'
import { useAction } from './loading.ts'
import { Field, Form } from './parts/form.tsx'
import { Icon } from './parts/icon.tsx'
import { FormError } from './parts/states.tsx'
import { text } from './texts.ts'

const LINK = /^#link=(sl-\w+)$/

interface SignInProps {
  readonly hasEnded: boolean
  onSession(session: SessionView): void
  onLanguage(): void
}
export const SignIn = ({ hasEnded, onSession, onLanguage }: SignInProps) => {
  const [token, setToken] = useState('')
  const [link, setLink] = useState(LINK.exec(location.hash)?.[1])
  const signIn = async (credential: object) =>
    onSession(await callData<SessionView>('POST', '/api/session', credential))
  const byToken = useAction(() => signIn({ token: token.trim() }))
  const byLink = useAction(async () => {
    // The secret leaves the address before it is used, and so the history.
    history.replaceState(null, '', location.pathname)
    await signIn({ link }).finally(() => setLink(undefined))
  })
  useEffect(() => {
    if (link) byLink.start()
  }, [])
  return (
    <main class="sign-in">
      <div class="card">
        <div class="card-head">
          <span class="brand">
            <Icon name="gate" /> Tollgate
          </span>
          <button type="button" class="button tiny" onClick={onLanguage}>
            {text('language')}
          </button>
        </div>
        <h1>{text('sign-in.title')}</h1>
        {hasEnded && <p class="notice">{text('sign-in.ended')}</p>}
        <FormError error={byLink.error} fields={[]} />
        {link ? (
          <p role="status">{text('sign-in.link')}</p>
        ) : (
          <Form action={byToken} submit={text('sign-in')} params={['token']}>
            <Field
              label={text('sign-in.token')}
              value={token}
              onChange={setToken}
              type="password"
              help={text('sign-in.help')}
              param="token"
              error={byToken.error}
              autoComplete="current-password"
              isRequired
              hasFocus
            />
          </Form>
        )}
      </div>
    </main>
  )
}
