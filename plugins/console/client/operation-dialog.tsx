/** Dialogs of operations: the fields are the arguments of the operation in the table of
 *  plugins/operator. */
import { useState } from 'preact/hooks'
import { callData } from './api.ts'
import { useAction } from './loading.ts'
import FORMS from './operation-forms.json'
import { Confirm, Dialog, Field, Form } from './parts/form.tsx'
import { useCurrency } from './parts/values.tsx'
import { type TextKey, text, textOr } from './texts.ts'

/** Labels and help of arguments by their names. */
const TEXTS: Readonly<Record<string, readonly [label: TextKey, help?: TextKey]>> = {
  amount: ['column.amount'],
  code: ['redeem.code', 'redeem.help'],
  count: ['codes.count'],
  expires: ['column.expires'],
  name: ['column.name'],
  note: ['accounts.note', 'accounts.note.help'],
  role: ['column.role'],
  scope: ['personal.scope', 'personal.scope.help'],
}

/** `name*=text`; see test/docs/tables/operation-forms.ts. */
const fieldIn = (word: string) => {
  const [, name = '', star, kind = ''] = /^(\w+)(\*?)=(.*)$/.exec(word) ?? []
  return { name, isRequired: star === '*', kind }
}
type FieldForm = ReturnType<typeof fieldIn>
const argumentOf = ({ name, kind }: FieldForm, value: string): string | number => {
  // The chosen day is the last one.
  if (name === 'expires') return `${value}T23:59:59Z`
  return kind === 'number' ? Number(value) : value.trim()
}

interface OperationProps<Data> {
  readonly of: keyof typeof FORMS
  /** The fields that the dialog has; by default all but those with a fixed value. */
  readonly only?: readonly string[]
  /** Arguments that the dialog does not ask for, and values of {name} in the path. */
  readonly fixed?: Readonly<Record<string, string | number>>
  /** Values that the fields have at first. */
  readonly initial?: Readonly<Record<string, string>>
  readonly title: string
  readonly submit: string
  /** By the names of arguments; a text: nothing is asked for. */
  readonly help?: Readonly<Record<string, string>> | string
  readonly isDanger?: boolean
  onClose(): void
  onDone(data: Data): void
}
export const OperationDialog = <Data,>(props: OperationProps<Data>) => {
  const { of, only, fixed = {}, initial = {}, title, submit, help = {}, onClose, onDone } = props
  const [draft, setDraft] = useState(initial)
  const currency = useCurrency()
  const [method = '', path = '', ...words] = FORMS[of].split(' ')
  const isAsked = (name: string) =>
    typeof help !== 'string' && (only?.includes(name) ?? !Object.hasOwn(fixed, name))
  const fields = words.map(fieldIn).filter(({ name }) => isAsked(name))
  const action = useAction(async () => {
    const rest = { ...fixed }
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(rest[name])
      delete rest[name]
      return encodeURIComponent(value)
    })
    const entries = fields.flatMap(field => {
      const value = draft[field.name] ?? ''
      return value === '' && !field.isRequired
        ? []
        : [[field.name, argumentOf(field, value)] as const]
    })
    const body = { ...rest, ...Object.fromEntries(entries) }
    onDone(await callData<Data>(method, address, method === 'DELETE' ? undefined : body))
  })
  if (typeof help === 'string')
    return <Confirm title={title} help={help} submit={submit} action={action} onClose={onClose} />
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={action}
        submit={submit}
        params={fields.map(({ name }) => name)}
        onCancel={onClose}
        isDanger={props.isDanger ?? false}
      >
        {fields.map((field, index) => (
          <Field
            key={field.name}
            {...lookOf(field, currency, initial)}
            {...(help[field.name] && { help: help[field.name] })}
            value={draft[field.name] ?? ''}
            onChange={value => setDraft(before => ({ ...before, [field.name]: value }))}
            param={field.name}
            error={action.error}
            hasFocus={index === 0}
          />
        ))}
      </Form>
    </Dialog>
  )
}
const lookOf = ({ name, kind, isRequired }: FieldForm, currency: string, initial: object) => {
  const [label, help] = TEXTS[name] ?? []
  const title = label ? text(label) : name
  const unit = name === 'amount' ? ` (${currency})` : ''
  const isOptional = !isRequired && !Object.hasOwn(initial, name)
  const words = kind.split('|')
  return {
    label: `${title}${unit}${isOptional ? ` (${text('optional')})` : ''}`,
    isRequired,
    type: name === 'expires' ? ('date' as const) : kind === 'number' ? ('number' as const) : 'text',
    ...(help && { help: text(help) }),
    ...(words.length > 1 && {
      options: words.map(
        word => [word, textOr(`accounts.${word}`, textOr(`personal.scope.${word}`, word))] as const,
      ),
    }),
  } as const
}
