/** Shown in place of data: loading, empty, failed. */
import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api.ts'
import type { Loaded } from '../loading.ts'
import { text } from '../texts.ts'
import { Id } from './values.tsx'

export const Skeleton = ({ rows = 4 }: { rows?: number }) => (
  <div class="skeletons" role="status" aria-label={text('loading')}>
    {Array.from({ length: rows }, (_, index) => (
      <div class="skeleton" key={index} />
    ))}
  </div>
)

interface EmptyProps {
  readonly title: string
  readonly help: string
  /** The button or command that fills it. */
  readonly children?: ComponentChildren
}
export const Empty = ({ title, help, children }: EmptyProps) => (
  <div class="state">
    <h2>{title}</h2>
    <p class="muted">{help}</p>
    {children}
  </div>
)

const adviceOf = (status: number): string => {
  if (status === 0) return text('error.offline')
  return status >= 500 ? text('error.server') : text('error.read')
}
/** The object that an address names does not exist, or no longer. */
const Missing = ({ message }: { message: string }) => (
  <div class="state" role="alert">
    <h2>{text('error.missing')}</h2>
    <p>{message}</p>
    <p class="muted">{text('error.missing.help')}</p>
  </div>
)
export const ErrorState = ({ error, onRetry }: { error: ApiError; onRetry?: () => void }) =>
  error.status === 404 ? (
    <Missing message={error.message} />
  ) : (
    <Failed error={error} {...(onRetry && { onRetry })} />
  )
const Failed = ({ error, onRetry }: { error: ApiError; onRetry?: () => void }) => (
  <div class="state" role="alert">
    <h2 class="error">{text('error.title')}</h2>
    <p>{error.status === 0 ? '' : error.message}</p>
    <p class="muted">{adviceOf(error.status)}</p>
    {error.requestId && (
      <p class="small muted">
        {text('error.id')}: <Id id={error.requestId} />
      </p>
    )}
    {onRetry && (
      <button type="button" class="button" onClick={onRetry}>
        {text('retry')}
      </button>
    )}
  </div>
)

/** An error of a form that belongs to none of its fields. */
export const FormError = ({
  error,
  fields,
}: {
  error: ApiError | undefined
  fields: readonly string[]
}) => {
  if (!error || (error.param !== undefined && fields.includes(error.param))) return null
  return (
    <div class="notice error" role="alert">
      {error.status === 0 ? text('error.offline') : error.message}
    </div>
  )
}

interface ViewProps<T> {
  readonly of: Loaded<T>
  readonly rows?: number
  children(data: T): ComponentChildren
}
/** Shows loaded data, or its state. */
export const View = <T,>({ of, rows, children }: ViewProps<T>) => {
  const { data, error, isSlow, reload } = of
  if (error) return <ErrorState error={error} onRetry={reload} />
  if (data === undefined) return isSlow ? <Skeleton {...(rows && { rows })} /> : null
  return <>{children(data)}</>
}
