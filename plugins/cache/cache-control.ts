/** The request header `cache-control`, in the words of RFC 9111 §5.2.1. Pure. */
export interface CacheControl {
  /** Neither reads nor stores. */
  readonly isOff: boolean
  /** ms since 1970: no older answer is taken. `Infinity`: none is. */
  readonly oldest: number
  /** An upstream is not asked. */
  readonly onlyCached: boolean
}

/** Directives that are unknown or malformed are left out, as the RFC asks. */
export const readCacheControl = (header: string | undefined, now: number): CacheControl => {
  const directives = new Map<string, string>()
  for (const each of (header ?? '').toLowerCase().split(',')) {
    const [name = '', value = ''] = each.trim().split('=', 2)
    directives.set(name, value.replaceAll('"', ''))
  }
  const age = /^\d{1,10}$/.exec(directives.get('max-age') ?? '')?.[0]
  const youngest = age === undefined ? 0 : now - Number(age) * 1_000
  return {
    isOff: directives.has('no-store'),
    oldest: directives.has('no-cache') ? Infinity : youngest,
    onlyCached: directives.has('only-if-cached'),
  }
}
