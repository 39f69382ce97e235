/** The fields of operations: what they show of a row, and the arguments that they make. */

/** Quota units of one unit of the currency. */
const QUOTA_UNITS = 500_000
/** Quota units as an amount of the currency. */
export const amountOfUnits = (units: number): string => String(units / QUOTA_UNITS)
/** The units of an amount; the API says what is wrong with any other text. */
const unitsOf = (amount: string): number | string => {
  const units = Math.round(Number(amount) * QUOTA_UNITS)
  return Number.isSafeInteger(units) ? units : amount
}

/** `name*=text`: see test/docs/tables/operation-forms.ts. */
export const fieldIn = (word: string) => {
  const [, name = '', mark, kind = ''] = /^([\w.]+)([*?]?)=(.*)$/.exec(word) ?? []
  return { name, isRequired: mark === '*', isNullable: mark === '?', kind }
}
export type FieldForm = ReturnType<typeof fieldIn>
/** The texts of fields by their names; empty without a value. */
export type Draft = Readonly<Record<string, string>>
type Members = Readonly<Record<string, unknown>>

/** The texts that show the members of a row; `limits.requests`: a member of `limits`. */
export const draftOf = (fields: readonly FieldForm[], row: object): Draft =>
  Object.fromEntries(fields.map(({ name }) => [name, textOf(name, memberOf(row, name))]))
const memberOf = (row: object, name: string): unknown => {
  const [first = '', second] = name.split('.')
  const member = (row as Members)[first]
  return second === undefined ? member : (member as Members | null | undefined)?.[second]
}
const textOf = (name: string, value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (name === 'quota') return amountOfUnits(Number(value))
  if (name === 'expires') return String(value).slice(0, 10)
  return Array.isArray(value) ? value.join(', ') : String(value)
}

/** The arguments. Of a row that is edited they have the changes only, and an empty field removes
 *  its setting. */
export const argumentsOf = (fields: readonly FieldForm[], draft: Draft, edited?: object) => {
  const before = edited && draftOf(fields, edited)
  const changed = fields.filter(({ name }) => !before || draft[name] !== before[name])
  const groups = new Set(changed.map(({ name }) => groupOf(name)))
  const isSent = ({ name }: FieldForm): boolean =>
    groups.has(groupOf(name)) && !(name === 'quota_period' && !draft.quota)
  const entries = fields.filter(isSent).flatMap(field => {
    const value = draft[field.name] ?? ''
    if (value !== '') return [[field.name, argumentOf(field, value)] as const]
    if (edited) return [[field.name, field.isNullable ? null : ''] as const]
    return field.isRequired ? [[field.name, ''] as const] : []
  })
  return withLimits(entries)
}
/** Fields of a group are sent together. */
const groupOf = (name: string): string => (name === 'quota_period' ? 'quota' : name)
const argumentOf = ({ name, kind }: FieldForm, value: string): unknown => {
  // The chosen day is the last one.
  if (name === 'expires') return `${value}T23:59:59Z`
  if (name === 'quota') return unitsOf(value)
  if (kind === 'names') return value.split(/[\s,]+/).filter(Boolean)
  // The API says what is wrong with a text that is not a number.
  if (kind === 'number') return Number.isNaN(Number(value)) ? value : Number(value)
  return value.trim()
}
/** Members of `limits` in one object: the others stay. */
const withLimits = (entries: readonly (readonly [string, unknown])[]): Members => {
  const members = entries.flatMap(([name, value]) =>
    name.startsWith('limits.') ? [[name.slice('limits.'.length), value] as const] : [],
  )
  const plain = entries.filter(([name]) => !name.startsWith('limits.'))
  return Object.fromEntries(
    members.length === 0 ? plain : [...plain, ['limits', Object.fromEntries(members)]],
  )
}
