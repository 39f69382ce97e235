/** Values as the console shows them everywhere: money, times, ids, states. */
import { createContext, Fragment } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { ChargeRow, SessionView } from '../../../views.ts'
import { formatRelative, formatTime, shortenId, splitMoney } from '../format.ts'
import { hrefOf } from '../router.ts'
import { text, textOr } from '../texts.ts'
import { toast } from './toast.tsx'

export const SessionContext = createContext<SessionView | undefined>(undefined)
export const useCurrency = (): string => useContext(SessionContext)?.currency ?? ''
/** The number of the account that is signed in. */
export const useOwnAccount = (): number | undefined => useContext(SessionContext)?.account.id

/** Whether the member of the team that is signed in may change its money; accounts may. */
export const useManages = (): boolean => {
  const member = useContext(SessionContext)?.member
  return !member || ['owner', 'admin'].includes(member.role)
}
/** The member of the team that is signed in; null: the account itself. */
export const useOwnMember = (): SessionView['member'] => useContext(SessionContext)?.member ?? null

/** The title of an upstream; without one, its name. `target`: what it calls the model. */
export const UpstreamName = ({
  name,
  target,
}: {
  name: string
  target?: string | null | undefined
}) => {
  const titles = useContext(SessionContext)?.titles ?? {}
  const title = Object.hasOwn(titles, name) ? titles[name] : name
  return (
    <span title={name}>
      {title}
      {target ? ` / ${target}` : ''}
    </span>
  )
}

/** An amount with six places, so that points are below each other. */
export const Money = ({
  amount,
  isShort = false,
}: {
  amount: number | string
  isShort?: boolean
}) => {
  const [digits, zeros] = splitMoney(amount)
  return (
    <span class="nowrap">
      {digits}
      {!isShort && zeros && <span class="faint">{zeros}</span>}
    </span>
  )
}

export const Time = ({ at }: { at: string | number | null | undefined }) => {
  if (at === null || at === undefined) return <span class="muted">{text('never')}</span>
  const iso = new Date(at).toISOString()
  return (
    <time dateTime={iso} title={`${formatTime(at)} (${iso})`} class="nowrap">
      {formatRelative(at)}
    </time>
  )
}

/** Ticks so that a relative time stays true. */
const useTick = (ms: number): void => {
  const [, setRound] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setRound(round => round + 1), ms)
    return () => clearInterval(timer)
  }, [ms])
}
/** Says that the page follows changes, and when it last heard of the gateway. */
export const Live = ({ at }: { at: number | undefined }) => {
  useTick(5_000)
  return (
    <span class="live small muted" data-live={at === undefined ? 'no' : 'yes'}>
      {at === undefined ? text('live.off') : text('live.on', { time: formatRelative(at) })}
    </span>
  )
}

/** Puts a text on the clipboard. */
export const copyText = async (value: string): Promise<void> => {
  await navigator.clipboard.writeText(value).then(
    () => toast(text('copied')),
    () => toast(value),
  )
}
/** An id, shortened in the middle; a click copies it. */
export const Id = ({ id }: { id: string }) => (
  <button
    type="button"
    class="copy"
    title={id}
    onClick={event => {
      event.stopPropagation()
      event.preventDefault()
      void copyText(id)
    }}
  >
    {shortenId(id)}
    <span class="hidden"> {text('copy')}</span>
  </button>
)

/** A method and a path, which may break before a slash or a colon. */
export const MethodPath = ({ method, path }: { method: string; path: string }) => (
  <span class="mono path">
    {method}{' '}
    {path.split(/(?=[/:])/).map((part, index) => (
      <Fragment key={index}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </span>
)

export type Owned = Pick<ChargeRow, 'account' | 'account_name'>
/** The account of a row, for operators. */
export const AccountLink = ({ of: { account, account_name: name } }: { of: Owned }) => (
  <a class="ellipsis" href={hrefOf('account', String(account))} title={name ?? ''}>
    {name ?? `#${account}`}
  </a>
)

const TONES: Readonly<Record<string, string>> = {
  active: 'ok',
  settled: 'ok',
  success: 'ok',
  succeeded: 'ok',
  completed: 'ok',
  delivered: 'ok',
  ready: 'ok',
  kept: 'ok',
  resolved: 'ok',
  firing: 'error',
  serving: 'ok',
  failed: 'error',
  ejected: 'error',
  resting: 'error',
  probing: 'warning',
  paused: 'warning',
  limited: 'warning',
  revoked: 'error',
  suspended: 'error',
  cancelled: 'error',
  expired: 'warning',
  pending: 'warning',
  unknown: 'warning',
  released: 'muted quiet',
}
/** A state: a word with a mark of its own shape, so that colour is never alone. */
export const State = ({ state }: { state: string }) => (
  <span class={`badge ${TONES[state] ?? 'muted'}`}>{textOr(`state.${state}`, state)}</span>
)

const toneOf = (status: number): string =>
  status >= 500 ? 'error' : status >= 400 ? 'warning' : 'ok'
/** The status of a response, with the code of its error. */
export const StatusCode = ({ status, code }: { status: number; code?: string | undefined }) => (
  <span class={`badge ${toneOf(status)}`}>
    {status}
    {code && <span class="muted error-code">{code}</span>}
  </span>
)

/** Code or JSON. A box that scrolls must be reachable by the keyboard. */
export const CodeBox = ({ text, ...rest }: { text: string; 'data-snippet'?: boolean }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: as above
  <pre tabIndex={0} {...rest}>
    {text}
  </pre>
)
export const jsonOf = (value: unknown): string => JSON.stringify(value, null, 2)

/** A secret that is shown once, with a button that copies it. */
export const Secret = ({ value, help }: { value: string; help: string }) => (
  <div class="field">
    <div class="secret">
      <code data-secret>{value}</code>
      <button type="button" class="button" onClick={() => void copyText(value)}>
        {text('copy')}
      </button>
    </div>
    <p class="field-help">{help}</p>
  </div>
)
