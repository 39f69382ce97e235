/** Reads names, classes, functions, spreads and comments from the syntax tree of a source file. */
import { parseSync, Visitor } from 'oxc-parser'
import type { SourceFile } from './imports.ts'

export interface Declaration {
  readonly name: string
  /** From the start of the file, in UTF-16 units. */
  readonly offset: number
}
export interface Syntax {
  /** Variables, parameters, functions, classes, types and their members. */
  readonly names: readonly Declaration[]
  /** Classes with the number of fields that may change. */
  readonly classes: readonly (Declaration & { readonly mutableFields: number })[]
  /** Functions of any kind, with their lines and their number of parameters. */
  readonly functions: readonly FunctionShape[]
  /** Spreads of an object or array literal: `...{ a, b }`. */
  readonly literalSpreads: readonly number[]
  /** Private members of other objects than `this`, the class and instances that its code has just
   *  made: `other.#name`. */
  readonly foreignPrivates: readonly Declaration[]
  readonly comments: readonly { readonly offset: number; readonly text: string }[]
}

interface FunctionShape {
  readonly offset: number
  readonly lines: number
  readonly parameters: number
}
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}
interface NamedNode extends Node {
  readonly name?: string
}

export const syntaxOf = (file: SourceFile): Syntax => {
  const { program, comments } = parseSync(file.path.replace(/\.cjs$/, '.js'), file.text)
  const names: Declaration[] = []
  const classes: (Declaration & { mutableFields: number })[] = []
  const functions: FunctionShape[] = []
  const literalSpreads: number[] = []
  const foreignPrivates: Declaration[] = []
  /** Names of classes, and of variables with a new instance of a class. */
  const safeObjects = new Set<string | undefined>()
  const declare = (node: NamedNode | null | undefined): void => {
    if (node?.name !== undefined) names.push({ name: node.name, offset: node.start })
  }
  /** The names that a pattern binds: `{ a: b, ...c }` binds b and c. */
  const bind = (pattern: Pattern): void => {
    if (!pattern) return
    if (pattern.type === 'Identifier') declare(pattern)
    else if (pattern.type === 'ObjectPattern')
      for (const property of pattern.properties ?? [])
        bind(property.type === 'RestElement' ? property.argument : property.value)
    else if (pattern.type === 'ArrayPattern') for (const each of pattern.elements ?? []) bind(each)
    else if (pattern.type === 'AssignmentPattern') bind(pattern.left)
    else if (pattern.type === 'RestElement') bind(pattern.argument)
    else if (pattern.type === 'TSParameterProperty') bind(pattern.parameter)
  }
  const onFunction = (node: FunctionNode): void => {
    declare(node.id)
    for (const parameter of node.params) bind(parameter)
    const text = file.text.slice(node.start, node.end)
    const parameters = node.params.filter(each => !(each && 'name' in each && each.name === 'this'))
    functions.push({
      offset: node.start,
      lines: text.split('\n').length,
      parameters: parameters.length,
    })
  }
  const onClass = (node: ClassNode): void => {
    declare(node.id)
    safeObjects.add(node.id?.name)
    const mutable = node.body.body.filter(
      ({ type, readonly, static: isStatic, value }) =>
        type === 'PropertyDefinition' && !readonly && !isStatic && !isFunction(value),
    )
    const name = node.id?.name ?? 'class'
    classes.push({ name, offset: node.start, mutableFields: mutable.length })
  }
  const onMember = (node: { key: NamedNode; computed?: boolean }): void => {
    if (!node.computed) declare(node.key)
  }
  const onSpread = (node: { start: number; argument: Node }): void => {
    if (/^(?:Object|Array)Expression$/.test(node.argument.type)) literalSpreads.push(node.start)
  }
  const onAccess = ({ object, property, start }: AccessNode): void => {
    if (property.type !== 'PrivateIdentifier' || object.type === 'ThisExpression') return
    if (object.name !== undefined && safeObjects.has(object.name)) return
    foreignPrivates.push({ name: `#${property.name}`, offset: start })
  }
  const visitor = new Visitor({
    VariableDeclarator: node => {
      bind(node.id as Pattern)
      if (node.init?.type === 'NewExpression' && node.id.type === 'Identifier')
        safeObjects.add(node.id.name)
    },
    FunctionDeclaration: node => onFunction(node as FunctionNode),
    FunctionExpression: node => onFunction(node as FunctionNode),
    ArrowFunctionExpression: node => onFunction(node as FunctionNode),
    ClassDeclaration: node => onClass(node as ClassNode),
    ClassExpression: node => onClass(node as ClassNode),
    PropertyDefinition: node => onMember(node as { key: NamedNode }),
    MethodDefinition: node => onMember(node as { key: NamedNode }),
    TSPropertySignature: node => onMember(node as { key: NamedNode }),
    TSMethodSignature: node => {
      onMember(node as { key: NamedNode })
      for (const parameter of node.params) bind(parameter as Pattern)
    },
    TSFunctionType: node => {
      for (const parameter of node.params) bind(parameter as Pattern)
    },
    TSInterfaceDeclaration: node => declare(node.id),
    TSTypeAliasDeclaration: node => declare(node.id),
    CatchClause: node => bind(node.param as Pattern),
    SpreadElement: onSpread,
    MemberExpression: node => onAccess(node as AccessNode),
  })
  visitor.visit(program)
  const texts = comments.map(({ start, end }) => ({
    offset: start,
    text: file.text.slice(start, end),
  }))
  return { names, classes, functions, literalSpreads, foreignPrivates, comments: texts }
}

const isFunction = (node: Node | null | undefined): boolean => /Function/.test(node?.type ?? '')

type Pattern =
  | (NamedNode & {
      readonly properties?: readonly {
        readonly type: string
        readonly value?: Pattern
        readonly argument?: Pattern
      }[]
      readonly elements?: readonly Pattern[]
      readonly left?: Pattern
      readonly argument?: Pattern
      readonly parameter?: Pattern
    })
  | null
  | undefined
type AccessNode = Node & { readonly object: NamedNode; readonly property: NamedNode }
type FunctionNode = Node & { readonly id?: NamedNode | null; readonly params: readonly Pattern[] }
type ClassNode = Node & {
  readonly id: NamedNode | null
  readonly body: {
    readonly body: readonly (Node & {
      readonly readonly?: boolean
      readonly static?: boolean
      readonly value?: Node | null
    })[]
  }
}
