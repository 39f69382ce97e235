/** One-token mutations of a source text: an operator or a method replaced by its counterpart, a
 *  constant off by one or flipped, a condition negated. */
import { createHash } from 'node:crypto'
import { parseSync } from 'oxc-parser'

export interface Mutant {
  /** The same when other lines of the file change. */
  readonly id: string
  readonly file: string
  readonly line: number
  /** Offsets of the replaced text, in UTF-16 units. */
  readonly start: number
  readonly end: number
  readonly put: string
  /** The text that is replaced, and its replacement. */
  readonly summary: string
}
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}
type Edit = Pick<Mutant, 'start' | 'end' | 'put'>

const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&': '|',
  '|': '&',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
}
const METHODS = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['some', 'every'],
  ['every', 'some'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
])
/** Wrappers of expressions; all other nodes of TypeScript are types. */
const EXPRESSIONS = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'])
const NO_CODE = new Set(['ImportDeclaration', 'ExportAllDeclaration'])

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value
const negate = ({ start, end }: Node, text: string): Edit => ({
  start,
  end,
  put: `!(${text.slice(start, end)})`,
})

/** The operator lies between its operands, or before or after the only one. */
const onOperator = (node: Node, text: string): Edit[] => {
  const operator = String(node.operator)
  const put = OPERATORS[operator]
  const [first, second] = [node.left, node.right]
  const argument = isNode(node.argument) ? node.argument : node
  const isPrefix = node.prefix === true
  const from = isNode(first) ? first.end : isPrefix ? node.start : argument.end
  const to = isNode(second) ? second.start : isPrefix ? argument.start : node.end
  const start = text.slice(from, to).indexOf(operator) + from
  return put === undefined || start < from ? [] : [{ start, end: start + operator.length, put }]
}
const onLiteral = ({ value, start, end }: Node): Edit[] => {
  if (typeof value === 'boolean') return [{ start, end, put: String(!value) }]
  if (typeof value === 'number') return [{ start, end, put: String(value + 1) }]
  return typeof value === 'bigint' ? [{ start, end, put: `${value + 1n}n` }] : []
}
const onMember = ({ property, computed }: Node): Edit[] => {
  const put = isNode(property) && !computed ? METHODS.get(String(property.name)) : undefined
  return isNode(property) && put !== undefined
    ? [{ start: property.start, end: property.end, put }]
    : []
}
const onTest = ({ test }: Node, text: string): Edit[] => (isNode(test) ? [negate(test, text)] : [])

type Mutate = (node: Node, text: string) => readonly Edit[]
const MUTATE: Readonly<Record<string, Mutate>> = {
  BinaryExpression: onOperator,
  LogicalExpression: onOperator,
  AssignmentExpression: onOperator,
  UpdateExpression: onOperator,
  UnaryExpression: ({ operator, start }) =>
    operator === '!' ? [{ start, end: start + 1, put: '' }] : [],
  Literal: onLiteral,
  IfStatement: onTest,
  ConditionalExpression: onTest,
  WhileStatement: onTest,
  MemberExpression: onMember,
}

export const mutantsOf = (file: string, text: string): Mutant[] => {
  const edits: Edit[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isNode(value) || NO_CODE.has(value.type)) return
    if (value.type.startsWith('TS') && !EXPRESSIONS.has(value.type)) return
    edits.push(...(MUTATE[value.type]?.(value, text) ?? []))
    for (const child of Object.values(value)) walk(child)
  }
  walk(parseSync(file.replace(/\.cjs$/, '.js'), text).program.body)
  const repeated = new Map<string, number>()
  return edits
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map(edit => {
      const before = text.slice(edit.start, edit.end)
      const lineStart = text.lastIndexOf('\n', edit.start - 1) + 1
      const lineText = text.slice(lineStart).split('\n', 1)[0] ?? ''
      const column = edit.start - lineStart - (lineText.length - lineText.trimStart().length)
      const key = [file, lineText.trim(), column, edit.put].join('\n')
      const number = repeated.get(key) ?? 0
      repeated.set(key, number + 1)
      return {
        id: createHash('sha256').update(`${key}\n${number}`).digest('hex').slice(0, 16),
        file,
        line: text.slice(0, edit.start).split('\n').length,
        ...edit,
        summary: `${shorten(before)} -> ${shorten(edit.put)}`,
      }
    })
}
const shorten = (text: string): string => {
  const oneLine = text.replace(/\s+/g, ' ')
  return oneLine.length > 70 ? `${oneLine.slice(0, 69)}…` : oneLine
}
