/** Starts the console: finds the session, shows the sign-in page or the page of the address. */
import { type ComponentType, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { SessionView } from '../../views.ts'
import { type ApiError, callData, useSession } from './api.ts'
import { clearCache, toApiError } from './loading.ts'
import type { PageProps } from './page.ts'
import { HOME, pageOf } from './pages.ts'
import { Dialog } from './parts/form.tsx'
import { PageHead } from './parts/page.tsx'
import { ErrorState } from './parts/states.tsx'
import { restorePlace, takeRefused } from './provider.ts'
import { hrefOf, useRoute } from './router.ts'
import { applyTheme, Shell, switchLanguage, titleOf } from './shell.tsx'
import { SignIn } from './sign-in.tsx'
import { presentLanguage, text } from './texts.ts'
import './tokens.css'

type Present = {
  readonly session?: SessionView
  readonly hasEnded?: boolean
  readonly error?: ApiError
}

const App = () => {
  const [present, setPresent] = useState<Present>()
  const [, setLanguageRound] = useState(0)
  const [refused, setRefused] = useState(takeRefused)
  const load = () =>
    callData<SessionView>('GET', '/api/session')
      .then(session => {
        restorePlace()
        setPresent({ session })
      })
      .catch(error => {
        const failure = toApiError(error)
        setPresent(failure.status === 401 ? {} : { error: failure })
      })
  useEffect(() => {
    void load()
  }, [])
  useSession(present?.session, () => {
    clearCache()
    setPresent({ hasEnded: true })
  })
  if (!present) return null
  const { session, error, hasEnded = false } = present
  if (error) return <ErrorState error={error} onRetry={load} />
  const onLanguage = () => {
    switchLanguage()
    setLanguageRound(round => round + 1)
  }
  if (!session) {
    const onSession = (session: SessionView) => setPresent({ session })
    return <SignIn {...{ hasEnded, refused, onSession, onLanguage }} />
  }
  const signOut = async () => {
    const url = await callData<{ readonly url: string } | null>('DELETE', '/api/session')
      .then(data => data?.url)
      .catch(() => undefined)
    clearCache()
    setRefused(undefined)
    setPresent({})
    // The page of the identity provider that ends its session, too.
    if (url !== undefined) location.assign(url)
  }
  return <SignedIn session={session} onSignOut={() => void signOut()} onLanguage={onLanguage} />
}

interface SignedInProps {
  readonly session: SessionView
  onSignOut(): void
  onLanguage(): void
}
const SignedIn = (props: SignedInProps) => {
  const { place, blocked, leave, stay } = useRoute()
  const name = place.page || HOME
  return (
    <Shell {...props} place={{ ...place, page: name }}>
      <div class="page">
        <PageView key={name} name={name} place={place} isAdmin={props.session.admin} />
      </div>
      {blocked && <Leave onLeave={leave} onStay={stay} />}
    </Shell>
  )
}

/** The browser gives the first button the focus. */
const Leave = ({ onLeave, onStay }: { onLeave(): void; onStay(): void }) => (
  <Dialog title={text('unsaved')} onClose={onStay}>
    <p>{text('unsaved.help')}</p>
    <div class="dialog-foot">
      <button type="button" class="button primary" onClick={onStay}>
        {text('unsaved.stay')}
      </button>
      <button type="button" class="button danger" onClick={onLeave}>
        {text('unsaved.leave')}
      </button>
    </div>
  </Dialog>
)

interface PageViewProps extends PageProps {
  readonly name: string
  readonly isAdmin: boolean
}
const PageView = ({ name, place, isAdmin }: PageViewProps) => {
  const [Page, setPage] = useState<ComponentType<PageProps>>()
  const [error, setError] = useState<ApiError>()
  const page = pageOf(name)
  const isForOperators = page?.group === 'admin' || page?.isAdmin === true
  const isKnown = page !== undefined && (!isForOperators || isAdmin)
  const load = () => {
    if (isKnown)
      page
        .load()
        .then(({ default: component }) => setPage(() => component))
        .catch(error => setError(toApiError(error)))
  }
  useEffect(load, [name])
  useEffect(() => {
    document.title = isKnown ? `${titleOf(name)} · Tollgate` : 'Tollgate'
  })
  if (!isKnown)
    return (
      <>
        <PageHead title={text('not-found')} />
        <p class="muted">{name}</p>
        <p>
          <a class="button" href={hrefOf(HOME)}>
            {text('back-home')}
          </a>
        </p>
      </>
    )
  if (error) return <ErrorState error={error} onRetry={load} />
  return Page ? <Page place={place} /> : null
}

document.documentElement.lang = presentLanguage()
applyTheme()
const app = document.getElementById('app')
if (app) render(<App />, app)
