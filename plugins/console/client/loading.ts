/** Data of the gateway in components: loaded once, shown again at once, reloaded on demand. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, call } from './api.ts'

export interface Loaded<T> {
  readonly data: T | undefined
  readonly error: ApiError | undefined
  /** For longer than a moment: a skeleton stands in for the data. */
  readonly isSlow: boolean
  reload(): void
}
/** ms after which a skeleton is shown. */
const SLOW = 150

/** The last responses by path, so that going back shows them at once. */
const cache: { [path: string]: unknown } = Object.create(null)
export const clearCache = (): void => {
  for (const path of Object.keys(cache)) delete cache[path]
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, error instanceof Error ? error.message : String(error))

/** GETs a path whenever it changes; undefined: nothing to load. */
export const useData = <T>(path: string | undefined): Loaded<T> => {
  const [round, setRound] = useState(0)
  const [error, setError] = useState<ApiError>()
  const [isSlow, setSlow] = useState(false)
  const [, setVersion] = useState(0)
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    const timer = setTimeout(() => setSlow(true), SLOW)
    call<T>('GET', path, { signal: abort.signal, isFresh: round > 0 })
      .then(data => {
        cache[path] = data
        setError(undefined)
        setVersion(version => version + 1)
      })
      .catch(error => {
        if (!abort.signal.aborted) setError(toApiError(error))
      })
      .finally(() => {
        clearTimeout(timer)
        if (!abort.signal.aborted) setSlow(false)
      })
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [path, round])
  const reload = useCallback(() => setRound(round => round + 1), [])
  const value = path === undefined ? undefined : (cache[path] as T | undefined)
  return { data: value, error: path === undefined ? undefined : error, isSlow, reload }
}

export interface Action {
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  /** Runs unless it runs already. */
  start(): void
  clear(): void
}
/** A change that the user starts: its progress and its error. */
export const useAction = (run: () => Promise<void>): Action => {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const start = (): void => {
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    run()
      .catch(error => setError(toApiError(error)))
      .finally(() => setBusy(false))
  }
  return { isBusy, error, start, clear: () => setError(undefined) }
}
