/** The sign-in page: a system token, the secret of a one-time link in the address, or the identity
 *  provider. */
import { useEffect, useState } from 'preact/hooks'
import type { SessionView } from '../../views.ts'
import { callData } from './api.ts'
import { useAction } from './loading.ts'
import { Field, Form } from './parts/form.tsx'
import { Icon } from './parts/icon.tsx'
import { FormError } from './parts/states.tsx'
import { keepPlace, providerAddress, type Refused } from './provider.ts'
import { text } from './texts.ts'

const LINK = /^#link=(sl-\w+)$/

interface SignInProps {
  readonly hasEnded: boolean
  /** Of the sign-in by the identity provider. */
  readonly refused: Refused | undefined
  onSession(session: SessionView): void
  onLanguage(): void
}
export const SignIn = ({ hasEnded, refused, onSession, onLanguage }: SignInProps) => {
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
        {refused && <Refusal refused={refused} />}
        <FormError error={byLink.error} fields={[]} />
        {!link && <Provider />}
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

/** The way to the identity provider, if the gateway is its client. */
const Provider = () => {
  const address = providerAddress()
  if (address === undefined) return null
  return (
    <>
      <a class="button" href={address} onClick={keepPlace}>
        {text('sign-in.provider')}
      </a>
      <p class="small muted or">{text('sign-in.or')}</p>
    </>
  )
}
const Refusal = ({ refused: { reason, request } }: { refused: Refused }) => (
  <div class="notice error" role="alert">
    <p>{text(reason)}</p>
    {request && <p class="small muted">{text('sign-in.request', { id: request })}</p>}
  </div>
)
