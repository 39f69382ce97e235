/** Options and rows are defined once, by shapes of engine/config/shape.ts and plugins/shapes.ts: no
 *  schema of an option is a literal, and no interface repeats the members of a shape that it may
 *  import. */
import { parseSync, Visitor } from 'oxc-parser'
import { type Breach, lineAt, type SourceFile } from '../imports.ts'
import { findLayerBreach, pluginFolders } from '../layers.ts'

/** Files that write schemas as literals, with the reason. */
const LITERALS: Readonly<Record<string, string>> = {
  'engine/config/shape.ts': 'the kit makes schemas of shapes',
  'plugins/billing/schema.ts': 'a price is an amount, a line or a list of lines at the same place',
}
/** Types that have the members of a shape and are not its values, with the reason. */
const MIRRORS: Readonly<Record<string, string>> = {
  'plugins/billing/sum.ts Line': 'its meters are names, which a row has as texts',
  'plugins/operator/operations/budgets/owner.ts OwnerArguments':
    'callers pass undefined, which no value of a shape has',
  'plugins/slots.ts OwnLimits': 'part of tollgate/slots, which authors of plugins read',
  'plugins/task/task.ts TaskError': 'a stored error, which has a status after a call only',
}
const JSON_TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
/** A type of one of these is that of a raw value. */
const PLAIN = /^(?:TS(?:String|Number|Boolean|Unknown|Null|LiteralType|Array|Union|IndexedAccess))/
/** Functions that make shapes, by the file that has them: which of their arguments are members. */
const MAKERS: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  'shape.ts': { object: [1], objectOfDefaults: [1], readerOf: [0], schemasOf: [0] },
  'key-settings.ts': { settingsWith: [0] },
  'shapes.ts': { object: [0, 1] },
}

interface Node {
  readonly type: string
  readonly start: number
}
interface Property extends Node {
  readonly key?: { readonly name?: string; readonly value?: unknown }
  readonly value?: Expression
  readonly typeAnnotation?: { readonly typeAnnotation: Node }
  /** Of a spread: the name of a constant. */
  readonly argument?: { readonly name?: string }
}
type Properties = readonly Property[]
interface Expression extends Node {
  readonly value?: unknown
  readonly properties?: Properties
  readonly elements?: readonly Expression[]
}
interface Definition {
  readonly path: string
  readonly line: number
}
interface ShapeNode extends Definition {
  readonly properties: Properties
}
interface Members extends Definition {
  readonly names: readonly string[]
}
interface TypeMembers extends Members {
  readonly name: string
  /** How many of its members have the type of a raw value. */
  readonly plain: number
}

export const definitionBreaches = (all: readonly SourceFile[]): Breach[] => {
  const files = all.filter(({ path }) => /^(?:engine|plugins|program)\/.*\.tsx?$/.test(path))
  const plugins = pluginFolders(files)
  const definitions = files.map(definitionsIn)
  const constants = new Map(definitions.flatMap(each => [...each.constants]))
  const shapes = definitions.flatMap(each =>
    each.shapes.map(({ properties, ...place }) => {
      const ofConstant = (name: string) => each.constants.get(name) ?? constants.get(name)
      return { ...place, names: namesIn(properties, ofConstant) }
    }),
  )
  const mirrors = definitions
    .flatMap(each => each.types)
    .flatMap(each => {
      const { path, line, name } = each
      const shape = shapes.find(one => isMirror(each, one) && canImport(path, one.path, plugins))
      if (!shape) return []
      const message = `${name} repeats the shape at ${shape.path}:${shape.line}: use its type`
      return [{ path, line, message, key: `${path} ${name}` }]
    })
  const known = new Set(mirrors.map(({ key }) => key))
  return [
    ...definitions.flatMap(each => each.literals),
    ...mirrors.filter(({ key }) => !(key in MIRRORS)).map(({ key: _, ...breach }) => breach),
    ...unusedExceptions(files, known),
  ]
}
const unusedExceptions = (files: readonly SourceFile[], known: ReadonlySet<string>): Breach[] =>
  Object.keys(MIRRORS)
    .map(key => ({ key, path: key.split(' ')[0] ?? '' }))
    .filter(({ key, path }) => files.some(file => file.path === path) && !known.has(key))
    .map(({ key, path }) => ({ path, line: 1, message: `not a mirror: remove ${key} of MIRRORS` }))

const isMirror = ({ names, plain }: TypeMembers, shape: Members): boolean =>
  names.length >= 3 &&
  plain > names.length / 2 &&
  names.length >= shape.names.length * 0.75 &&
  names.every(name => shape.names.includes(name))
const canImport = (from: string, to: string, plugins: ReadonlySet<string>): boolean =>
  from === to ||
  findLayerBreach({ from, to, relative: true, typeOnly: true, line: 1 }, plugins) === undefined

const definitionsIn = (file: SourceFile) => {
  const literals: Breach[] = []
  const shapes: ShapeNode[] = []
  const types: TypeMembers[] = []
  /** Members of shapes that have a name of their own. */
  const constants = new Map<string, Properties>()
  /** By their names here: which arguments are members. */
  const makers = new Map<string, readonly number[]>()
  const { path, text } = file
  const mayHaveLiterals = path in LITERALS || path.startsWith('plugins/formats/')
  const lineOf = ({ start }: Node) => lineAt(text, start)
  const addType = (name: string, node: Node, members: Properties) => {
    const plain = members.filter(each => PLAIN.test(each.typeAnnotation?.typeAnnotation.type ?? ''))
    types.push({ path, line: lineOf(node), name, names: namesIn(members), plain: plain.length })
  }
  const visitor = new Visitor({
    ImportDeclaration: ({ source, specifiers }) => {
      const known = MAKERS[String(source.value).split('/').at(-1) ?? ''] ?? {}
      for (const each of specifiers) {
        if (each.type !== 'ImportSpecifier' || each.imported.type !== 'Identifier') continue
        const places = known[each.imported.name]
        if (places) makers.set(each.local.name, places)
      }
    },
    ObjectExpression: node => {
      if (mayHaveLiterals || !isSchema(node as Expression)) return
      literals.push({ path, line: lineOf(node), message: 'a schema as a literal: write a shape' })
    },
    CallExpression: ({ callee, arguments: values, start, type }) => {
      const places = callee.type === 'Identifier' ? (makers.get(callee.name) ?? []) : []
      const properties = places.flatMap(
        place => (values[place] as Expression | undefined)?.properties ?? [],
      )
      if (properties.length > 0) shapes.push({ path, line: lineOf({ start, type }), properties })
    },
    VariableDeclarator: node => {
      const { id, init } = node
      if (id.type !== 'Identifier' || init?.type !== 'ObjectExpression') return
      const properties = init.properties as unknown as Properties
      constants.set(id.name, properties)
      if (new RegExp(`\\bRowOf<[^>]*typeof ${id.name}\\b`).test(text))
        shapes.push({ path, line: lineOf(node), properties })
    },
    TSInterfaceDeclaration: node =>
      addType(node.id.name, node, node.body.body as unknown as Properties),
    TSTypeAliasDeclaration: ({ id, typeAnnotation, start, type }) => {
      if (typeAnnotation.type !== 'TSTypeLiteral') return
      addType(id.name, { start, type }, typeAnnotation.members as unknown as Properties)
    },
  })
  visitor.visit(parseSync(path, text).program)
  return { literals, shapes, types, constants }
}

/** A description beside a type of JSON, words or alternatives. */
const isSchema = ({ properties = [] }: Expression): boolean => {
  const members = new Map(properties.map(each => [nameOf(each), each.value]))
  if (!members.has('description')) return false
  const type = members.get('type')
  const types = [type?.value, ...(type?.elements ?? []).map(each => each.value)]
  return (
    types.some(each => JSON_TYPES.includes(String(each))) ||
    ['enum', 'anyOf'].some(name => members.has(name))
  )
}
const nameOf = ({ key }: Property): string => String(key?.name ?? key?.value ?? '')
const namesIn = (
  members: Properties,
  ofConstant: (name: string) => Properties | undefined = () => undefined,
): readonly string[] =>
  members.flatMap(each => {
    const spread = ofConstant(each.argument?.name ?? '')
    return spread ? namesIn(spread, ofConstant) : [nameOf(each)].filter(name => name !== '')
  })
