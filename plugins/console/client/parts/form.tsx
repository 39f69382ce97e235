/** Forms: fields with label, help and the API's own error; dialogs; confirmation. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { ApiError } from '../api.ts'
import type { Action } from '../loading.ts'
import { setUnsaved } from '../router.ts'
import { text } from '../texts.ts'
import { FormError } from './states.tsx'

interface FieldProps {
  readonly label: string
  readonly value: string
  onChange(value: string): void
  readonly help?: ComponentChildren
  /** The name that the API uses for this field: its error is shown here. */
  readonly param?: string
  readonly error?: ApiError | undefined
  readonly type?: 'text' | 'password' | 'number' | 'date' | 'url' | 'search' | 'email'
  readonly isRequired?: boolean
  readonly lines?: number
  readonly options?: readonly (readonly [value: string, label: string])[]
  readonly placeholder?: string
  readonly autoComplete?: string
  readonly suggestions?: readonly string[]
  readonly hasFocus?: boolean
}
export const Field = (props: FieldProps) => {
  const { label, value, onChange, help, param, error, isRequired, lines, options } = props
  const id = useId()
  const message = error && param !== undefined && error.param === param ? error.message : undefined
  const described = [help && `${id}-help`, message && `${id}-error`].filter(Boolean).join(' ')
  const shared = {
    id,
    class: 'input',
    value,
    required: isRequired ?? false,
    'aria-invalid': message ? ('true' as const) : undefined,
    'aria-describedby': described || undefined,
    onInput: ({ currentTarget }: { currentTarget: EventTarget }) =>
      onChange((currentTarget as HTMLInputElement).value),
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options ? (
        <select
          {...shared}
          onInput={undefined}
          onChange={event => onChange(event.currentTarget.value)}
        >
          {options.map(([each, name]) => (
            <option key={each} value={each}>
              {name}
            </option>
          ))}
        </select>
      ) : lines ? (
        <textarea {...shared} rows={lines} placeholder={props.placeholder} />
      ) : (
        <input
          {...shared}
          // One of the types above, whose attributes are the same here.
          type={(props.type ?? 'text') as 'text'}
          placeholder={props.placeholder}
          autocomplete={props.autoComplete ?? 'off'}
          list={props.suggestions && `${id}-list`}
          autofocus={props.hasFocus ?? false}
        />
      )}
      {props.suggestions && <Suggestions id={`${id}-list`} of={props.suggestions} />}
      {help && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {message && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {message}
        </p>
      )}
    </div>
  )
}

const Suggestions = ({ id, of }: { readonly id: string; readonly of: readonly string[] }) => (
  <datalist id={id}>
    {of.map(each => (
      <option key={each} value={each} />
    ))}
  </datalist>
)

interface FormProps {
  readonly action: Action
  readonly submit: string
  /** Names of fields that show their own errors. */
  readonly params?: readonly string[]
  readonly isWide?: boolean
  onCancel?(): void
  readonly children?: ComponentChildren
  readonly isDanger?: boolean
}
/** Enter submits; the button stays enabled. */
export const Form = (props: FormProps) => {
  const { action, submit, params = [], onCancel, children } = props
  return (
    <form
      class={props.isWide ? 'form wide' : 'form'}
      noValidate
      onSubmit={event => {
        event.preventDefault()
        action.start()
      }}
    >
      {children}
      <FormError error={action.error} fields={params} />
      <div class={onCancel ? 'dialog-foot' : 'row'}>
        {onCancel && (
          <button type="button" class="button" onClick={onCancel}>
            {text('cancel')}
          </button>
        )}
        <button
          type="submit"
          class={props.isDanger ? 'button danger' : 'button primary'}
          aria-busy={action.isBusy}
        >
          {submit}
        </button>
      </div>
    </form>
  )
}

interface DialogProps {
  readonly title: string
  onClose(): void
  readonly children: ComponentChildren
}
/** A modal dialog: the browser keeps the focus in it, and Escape closes it. */
export const Dialog = ({ title, onClose, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <div class="dialog">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

/** A dialog that shows something and has one button, which closes it. */
export const Notice = ({ title, onClose, children }: DialogProps) => (
  <Dialog title={title} onClose={onClose}>
    {children}
    <div class="dialog-foot">
      <button type="button" class="button primary" onClick={onClose}>
        {text('close')}
      </button>
    </div>
  </Dialog>
)

interface ConfirmProps {
  readonly title: string
  readonly help: string
  readonly submit: string
  readonly action: Action
  onClose(): void
}
/** Asks once before something that cannot be undone, and names its object. */
export const Confirm = ({ title, help, submit, action, onClose }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <p>{help}</p>
    <Form action={action} submit={submit} onCancel={onClose} isDanger />
  </Dialog>
)

/** Announces unsaved changes before another page or another site is opened. */
export const useUnsaved = (isChanged: boolean): void =>
  useEffect(() => {
    if (!isChanged) return
    const onLeave = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', onLeave)
    setUnsaved(true)
    return () => {
      removeEventListener('beforeunload', onLeave)
      setUnsaved(false)
    }
  }, [isChanged])
