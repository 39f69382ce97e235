/** Dialogs of operations: the fields are the arguments of the operation in the table of
 *  plugins/operator. */
import { useState } from 'preact/hooks'
import { type ApiError, callData } from './api.ts'
import { useAction } from './loading.ts'
import { argumentsOf, type Draft, draftOf, type FieldForm, fieldIn } from './operation-fields.ts'
import FORMS from './operation-forms.json'
import { Confirm, Dialog, Field, Form, useUnsaved } from './parts/form.tsx'
import { useCurrency } from './parts/values.tsx'
import { type TextKey, text, textOr } from './texts.ts'

/** Labels and help of arguments by their names. */
const TEXTS: Readonly<Record<string, readonly [label: TextKey, help?: TextKey]>> = {
  amount: ['column.amount'],
  code: ['redeem.code', 'redeem.help'],
  concurrency: ['keys.concurrency', 'keys.concurrency.help'],
  count: ['codes.count'],
  expires: ['column.expires'],
  lasts: ['codes.lasts', 'codes.lasts.help'],
  models: ['keys.models', 'keys.models.help'],
  name: ['column.name'],
  note: ['accounts.note', 'accounts.note.help'],
  plan: ['plan'],
  quota: ['keys.quota', 'keys.quota.help'],
  quota_period: ['keys.period', 'keys.period.help'],
  requests: ['keys.requests', 'keys.requests.help'],
  retention: ['keys.retention', 'keys.retention.help'],
  role: ['column.role'],
  scope: ['personal.scope', 'personal.scope.help'],
  tags: ['call.tags', 'keys.tags.help'],
  tokens: ['account.tokens', 'account.tokens.help'],
  zone: ['keys.zone', 'keys.zone.help'],
}

interface OperationProps<Data> {
  readonly of: keyof typeof FORMS
  /** The fields that the dialog has, in order; by default all but those with a fixed value. */
  readonly only?: readonly string[]
  /** Arguments that the dialog does not ask for, and values of {name} in the path. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Values that the fields have at first. */
  readonly initial?: Readonly<Record<string, string>>
  /** The row that is changed: the fields show it, and only their changes are sent. */
  readonly edited?: object
  /** Values that the browser offers, by the names of arguments. */
  readonly suggestions?: Readonly<Record<string, readonly string[]>>
  readonly title: string
  readonly submit: string
  /** By the names of arguments; a text: nothing is asked for. */
  readonly help?: Readonly<Record<string, string>> | string
  /** A sentence above the fields. */
  readonly note?: string
  readonly isDanger?: boolean
  onClose(): void
  onDone(data: Data): void
}
export const OperationDialog = <Data,>(props: OperationProps<Data>) => {
  const { of, fixed = {}, title, submit, help = {}, onClose, onDone } = props
  const [method = '', path = ''] = FORMS[of].split(' ')
  const fields = fieldsOf(props)
  const form = useDraft(fields, props)
  const action = useAction(async () => {
    const rest = { ...fixed }
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(rest[name])
      delete rest[name]
      return encodeURIComponent(value)
    })
    const body = { ...rest, ...argumentsOf(fields, form.draft, props.edited) }
    onDone(await callData<Data>(method, address, method === 'DELETE' ? undefined : body))
  })
  if (typeof help === 'string')
    return <Confirm title={title} help={help} submit={submit} action={action} onClose={onClose} />
  return (
    <Dialog title={title} onClose={onClose}>
      {props.note && <p class="muted">{props.note}</p>}
      <Form
        action={action}
        submit={submit}
        params={fields.map(({ name }) => name)}
        onCancel={onClose}
        isDanger={props.isDanger ?? false}
      >
        <OperationFields of={props} fields={fields} form={form} error={action.error} />
        {props.edited && form.isChanged && <p class="small muted">{text('unsaved')}</p>}
      </Form>
    </Dialog>
  )
}

const fieldsOf = ({ of, only, fixed = {}, help }: OperationProps<never>): readonly FieldForm[] => {
  const fields = FORMS[of].split(' ').slice(2).map(fieldIn)
  if (typeof help === 'string') return []
  return only
    ? only.flatMap(name => fields.filter(field => field.name === name))
    : fields.filter(({ name }) => !Object.hasOwn(fixed, name))
}
const useDraft = (
  fields: readonly FieldForm[],
  { edited, initial }: Pick<OperationProps<never>, 'edited' | 'initial'>,
) => {
  const [before] = useState(() => ({ ...draftOf(fields, edited ?? {}), ...initial }))
  const [draft, setDraft] = useState<Draft>(before)
  const isChanged = JSON.stringify(draft) !== JSON.stringify(before)
  useUnsaved(isChanged)
  const set = (name: string, value: string) => setDraft(before => ({ ...before, [name]: value }))
  return { draft, set, isChanged }
}

interface OperationFieldsProps {
  readonly of: OperationProps<never>
  readonly fields: readonly FieldForm[]
  readonly form: ReturnType<typeof useDraft>
  readonly error: ApiError | undefined
}
/** Of more than five fields those after the second are in columns. */
const OperationFields = ({ of, fields, form, error }: OperationFieldsProps) => {
  const currency = useCurrency()
  const help = typeof of.help === 'object' ? of.help : {}
  const all = fields.map((field, index) => (
    <Field
      key={field.name}
      {...lookOf(field, currency, of)}
      {...(help[field.name] && { help: help[field.name] })}
      {...(of.suggestions?.[field.name] && { suggestions: of.suggestions[field.name] ?? [] })}
      value={form.draft[field.name] ?? ''}
      onChange={value => form.set(field.name, value)}
      param={field.name}
      error={error}
      hasFocus={index === 0}
    />
  ))
  if (all.length <= 5) return <>{all}</>
  return (
    <>
      {all.slice(0, 2)}
      <div class="columns">{all.slice(2)}</div>
    </>
  )
}
const lookOf = (
  { name, kind, isRequired, isNullable }: FieldForm,
  currency: string,
  { initial = {}, edited }: Pick<OperationProps<never>, 'edited' | 'initial'>,
) => {
  const [label, help] = TEXTS[name.replace(/^limits\./, '')] ?? []
  const title = label ? text(label) : name
  const unit = name === 'amount' || name === 'quota' ? ` (${currency})` : ''
  const words = kind.split('|')
  const isChoice = words.length > 1
  const isOptional = !(isRequired || edited || Object.hasOwn(initial, name) || isChoice)
  return {
    label: `${title}${unit}${isOptional ? ` (${text('optional')})` : ''}`,
    isRequired,
    type: name === 'expires' ? ('date' as const) : kind === 'number' ? ('number' as const) : 'text',
    ...(help && { help: text(help) }),
    ...(isChoice && {
      options: [...(isNullable ? [''] : []), ...words].map(
        word => [word, wordOf(name, word)] as const,
      ),
    }),
  } as const
}
const wordOf = (name: string, word: string): string => {
  if (name === 'quota_period') return textOr(`keys.period.${word || 'life'}`, word)
  return textOr(`accounts.${word}`, textOr(`personal.scope.${word}`, word))
}
