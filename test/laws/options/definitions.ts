/** Options are defined once, by shapes of engine/config/shape.ts: no schema is a literal, and no
 *  interface repeats the members of a shape that it may import. */
import { parseSync, Visitor } from 'oxc-parser'
import { type Breach, lineAt, type SourceFile } from '../imports.ts'
import { findLayerBreach, pluginFolders } from '../layers.ts'

/** Files that write schemas as literals, with the reason. */
const LITERALS: Readonly<Record<string, string>> = {
  'engine/config/shape.ts': 'the kit makes schemas of shapes',
  'plugins/billing/schema.ts': 'a price is an amount, a line or a list of lines at the same place',
}
const JSON_TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
/** A type of one of these is that of a raw value. */
const PLAIN = /^(?:TS(?:String|Number|Boolean|Unknown|Null|LiteralType|Array|Union|IndexedAccess))/

interface Node {
  readonly type: string
  readonly start: number
}
interface Property extends Node {
  readonly key?: { readonly name?: string; readonly value?: unknown }
  readonly value?: Expression
  readonly typeAnnotation?: { readonly typeAnnotation: Node }
}
interface Expression extends Node {
  readonly value?: unknown
  readonly properties?: readonly Property[]
  readonly elements?: readonly Expression[]
}
interface Definition {
  readonly path: string
  readonly line: number
  readonly names: readonly string[]
}
interface Interface extends Definition {
  readonly name: string
  /** How many of its members have the type of a raw value. */
  readonly plain: number
}

export const definitionBreaches = (all: readonly SourceFile[]): Breach[] => {
  const files = all.filter(({ path }) => /^(?:engine|plugins|program)\/.*\.tsx?$/.test(path))
  const plugins = pluginFolders(files)
  const definitions = files.map(definitionsIn)
  const shapes = definitions.flatMap(each => each.shapes)
  const mirrors = definitions
    .flatMap(each => each.interfaces)
    .flatMap(each => {
      const shape = shapes.find(
        one => isMirror(each, one) && canImport(each.path, one.path, plugins),
      )
      if (!shape) return []
      const { path, line, name } = each
      const place = `${shape.path}:${shape.line}`
      return [
        { path, line, message: `${name} repeats the shape at ${place}: use RawOf or ValueOf` },
      ]
    })
  return [...definitions.flatMap(each => each.literals), ...mirrors]
}

const isMirror = ({ names, plain }: Interface, shape: Definition): boolean =>
  names.length >= 3 &&
  plain > names.length / 2 &&
  names.length >= shape.names.length * 0.75 &&
  names.every(name => shape.names.includes(name))
const canImport = (from: string, to: string, plugins: ReadonlySet<string>): boolean =>
  from === to ||
  findLayerBreach({ from, to, relative: true, typeOnly: true, line: 1 }, plugins) === undefined

const definitionsIn = (file: SourceFile) => {
  const literals: Breach[] = []
  const shapes: Definition[] = []
  const interfaces: Interface[] = []
  const { path, text } = file
  const mayHaveLiterals = path in LITERALS || path.startsWith('plugins/formats/')
  const usesShapes = /\/(?:shape|key-settings)\.ts'/.test(text)
  const lineOf = ({ start }: Node) => lineAt(text, start)
  const visitor = new Visitor({
    ObjectExpression: node => {
      if (mayHaveLiterals || !isSchema(node as Expression)) return
      literals.push({ path, line: lineOf(node), message: 'a schema as a literal: write a shape' })
    },
    CallExpression: node => {
      if (!usesShapes || node.callee.type !== 'Identifier') return
      const place = ['readerOf', 'schemasOf', 'settingsWith'].indexOf(node.callee.name) >= 0 ? 0 : 1
      if (place === 1 && node.callee.name !== 'object') return
      const names = namesIn((node.arguments[place] as Expression | undefined)?.properties)
      if (names.length > 0) shapes.push({ path, line: lineOf(node), names })
    },
    TSInterfaceDeclaration: node => {
      const members = node.body.body as unknown as readonly Property[]
      const plain = members.filter(each =>
        PLAIN.test(each.typeAnnotation?.typeAnnotation.type ?? ''),
      )
      const names = namesIn(members)
      interfaces.push({ path, line: lineOf(node), name: node.id.name, names, plain: plain.length })
    },
  })
  visitor.visit(parseSync(path, text).program)
  return { literals, shapes, interfaces }
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
const namesIn = (members: readonly Property[] = []): readonly string[] =>
  members.map(nameOf).filter(name => name !== '')
