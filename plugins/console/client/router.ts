/** The address of the console: `#/page/id?filter=value`. The address is the whole state of a view,
 *  so that each can be linked and reloaded. */
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Place {
  readonly page: string
  /** The part after the page: the id of a call or a task. */
  readonly id: string | undefined
  readonly query: URLSearchParams
}
export type Query = Readonly<Record<string, string | undefined>>

export const hrefOf = (page: string, id?: string, query: Query = {}): string => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(pairs as [string, string][]).toString()
  return `#/${page}${id ? `/${encodeURIComponent(id)}` : ''}${search && `?${search}`}`
}

const read = (): Place => {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [page = '', id] = path.split('/')
  return { page, id: id && decoded(id), query: new URLSearchParams(search) }
}
/** An address that somebody typed may contain a single `%`. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const go = (href: string): void => {
  location.hash = href
}

/** Changes parts of the query of the present page, without another entry in the history. */
export const setQuery = (changes: Query): void => {
  const { page, id, query } = read()
  const next = { ...Object.fromEntries(query), ...changes }
  history.replaceState(null, '', hrefOf(page, id, next))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

/** Whether a form of the present page has unsaved changes. */
const unsaved = { isAny: false }
export const setUnsaved = (isAny: boolean): void => {
  unsaved.isAny = isAny
}

export interface Route {
  readonly place: Place
  /** Where the user wants to go from unsaved changes. */
  readonly blocked: string | undefined
  leave(): void
  stay(): void
}
/** The present place. A page with unsaved changes stays until the user decides. */
export const useRoute = (): Route => {
  const [place, setPlace] = useState(read)
  const [blocked, setBlocked] = useState<string>()
  const present = useRef(place)
  useEffect(() => {
    const onChange = () => {
      const next = read()
      const { page, id, query } = present.current
      if (unsaved.isAny && (next.page !== page || next.id !== id)) {
        setBlocked(location.hash || '#/')
        history.replaceState(null, '', hrefOf(page, id, Object.fromEntries(query)))
        return
      }
      present.current = next
      setPlace(next)
    }
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return {
    place,
    blocked,
    leave: () => {
      unsaved.isAny = false
      setBlocked(undefined)
      if (blocked) go(blocked)
    },
    stay: () => setBlocked(undefined),
  }
}
