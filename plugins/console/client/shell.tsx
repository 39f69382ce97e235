/** The frame of every page: navigation, title, keyboard, theme and language. */
import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { SessionView } from '../../views.ts'
import { PAGES, pageOf, pagesOf } from './pages.ts'
import { Dialog } from './parts/form.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Toasts } from './parts/toast.tsx'
import { SessionContext } from './parts/values.tsx'
import { go, hrefOf, type Place } from './router.ts'
import { setLanguage, type TextKey, text } from './texts.ts'

interface ShellProps {
  readonly place: Place
  readonly session: SessionView
  onSignOut(): void
  onLanguage(): void
  readonly children: ComponentChildren
}
const IN_BAR = ['overview', 'keys', 'usage', 'playground'] as const
export const titleOf = (page: string): string => text(`page.${page}` as TextKey)

export const Shell = ({ place, session, onSignOut, onLanguage, children }: ShellProps) => {
  const [isHelp, setHelp] = useState(false)
  const [isOpen, setOpen] = useState(false)
  useKeyboard(() => setHelp(true))
  useEffect(() => setOpen(false), [place])
  const { under, adminUnder } = pageOf(place.page) ?? {}
  const present = (session.admin && adminUnder) || under || place.page
  return (
    <SessionContext.Provider value={session}>
      <button type="button" class="hidden skip" onClick={focusMain}>
        {text('skip')}
      </button>
      <div class="frame">
        <header class={isOpen ? 'side open' : 'side'}>
          <a class="brand" href={hrefOf('overview')}>
            <Icon name="gate" /> Tollgate
          </a>
          <nav aria-label={text('nav.main')}>
            <Group group="customer" present={present} />
            {session.admin && <Group group="admin" present={present} />}
          </nav>
          <div class="side-foot">
            <span class="small muted">{session.account.name}</span>
            <div class="side-tools">
              <button type="button" class="button tiny" onClick={onSignOut}>
                {text('sign-out')}
              </button>
              <button
                type="button"
                class="button tiny icon"
                aria-label={text('theme')}
                title={text('theme')}
                onClick={switchTheme}
              >
                <Icon name="theme" />
              </button>
              <button type="button" class="button tiny" onClick={onLanguage}>
                {text('language')}
              </button>
            </div>
          </div>
        </header>
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <BottomBar present={present} onMore={() => setOpen(!isOpen)} isOpen={isOpen} />
      {isHelp && <KeyboardHelp onClose={() => setHelp(false)} />}
      <Toasts />
    </SessionContext.Provider>
  )
}
const focusMain = (): void => document.getElementById('main')?.focus()

const Group = ({ group, present }: { group: 'customer' | 'admin'; present: string }) => (
  <div class="nav">
    <p class="nav-title">{text(`nav.${group}`)}</p>
    {pagesOf(group).map(([name, { icon }]) => (
      <PageLink key={name} name={name} icon={icon} present={present} />
    ))}
  </div>
)
const PageLink = (props: { name: string; icon: IconName | undefined; present: string }) => (
  <a href={hrefOf(props.name)} aria-current={props.present === props.name ? 'page' : undefined}>
    {props.icon && <Icon name={props.icon} />}
    {titleOf(props.name)}
  </a>
)
const BottomBar = (props: { present: string; isOpen: boolean; onMore(): void }) => (
  <nav class="bottom" aria-label={text('nav.more')}>
    {IN_BAR.filter(name => pageOf(name)).map(name => (
      <PageLink key={name} name={name} icon={pageOf(name)?.icon} present={props.present} />
    ))}
    <button
      type="button"
      aria-expanded={props.isOpen}
      aria-current={IN_BAR.some(name => name === props.present) ? undefined : 'true'}
      onClick={props.onMore}
    >
      <Icon name="more" />
      {text('nav.more')}
    </button>
  </nav>
)

// ---------------------------------------------------------------- theme and language

const THEME = 'tollgate-theme'
export const applyTheme = (): void => {
  const theme = localStorage.getItem(THEME)
  if (theme) document.documentElement.dataset.theme = theme
}
const switchTheme = (): void => {
  const { theme } = document.documentElement.dataset
  const isDark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  localStorage.setItem(THEME, isDark ? 'light' : 'dark')
  applyTheme()
}
export const switchLanguage = (): void => {
  const next = document.documentElement.lang === 'zh' ? 'en' : 'zh'
  setLanguage(next)
  document.documentElement.lang = next
}

// ---------------------------------------------------------------- keyboard

/** ms between `g` and the key of a page. */
const CHORD = 1_200
const useKeyboard = (onHelp: () => void): void => {
  const session = useContext(SessionContext)
  useEffect(() => {
    let chordAt = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, textarea, select, dialog')
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.timeStamp - chordAt < CHORD) {
        chordAt = Number.NEGATIVE_INFINITY
        const name = Object.keys(PAGES).find(name => pageOf(name)?.key === event.key)
        if (name) go(hrefOf(name))
      } else if (event.key === 'g') chordAt = event.timeStamp
      else if (event.key === '?') onHelp()
      else if (event.key === '/') {
        event.preventDefault()
        document.querySelector<HTMLElement>('input[type="search"]')?.focus()
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [session])
}

const KeyboardHelp = ({ onClose }: { onClose(): void }) => {
  const session = useContext(SessionContext)
  const pages = [...pagesOf('customer'), ...(session?.admin ? pagesOf('admin') : [])]
  return (
    <Dialog title={text('keys-help')} onClose={onClose}>
      <dl class="facts">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>{text('keys-help.search')}</dd>
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>{text('keys-help.help')}</dd>
        {pages.map(([name, { key }]) => (
          <>
            <dt key={name}>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{text('keys-help.go', { page: titleOf(name) })}</dd>
          </>
        ))}
      </dl>
      <div class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          {text('close')}
        </button>
      </div>
    </Dialog>
  )
}
