/** Limits of one function, class or file: lines, parameters, mutable fields, imports. */
import { type Breach, importsOf, lineAt, type SourceFile } from './imports.ts'
import { FUNCTION_EXCEPTIONS, IMPORT_EXCEPTIONS, PARAMETER_EXCEPTIONS } from './ratchet.ts'
import { syntaxOf } from './syntax.ts'

const FUNCTION_LINES = 60
const MUTABLE_FIELDS = 8
const IMPORTS = 15
const PARAMETERS = 4

/** Checks everything but tests, which may be longer. */
export const shapeBreaches = (files: readonly SourceFile[]): Breach[] =>
  files
    .filter(({ path }) => /^(?:engine|examples|plugins|program)\/.*\.(?:tsx?|[cm]js)$/.test(path))
    .flatMap(file => [
      ...longFunctions(file),
      ...manyFields(file),
      ...manyImports(file),
      ...manyParameters(file),
    ])

/** A value that is shared between versions of the plugins' code may come from an earlier copy of
 *  its class, whose private members this copy cannot read: the access throws. */
export const privateBreaches = (files: readonly SourceFile[]): Breach[] =>
  files.flatMap(file =>
    syntaxOf(file).foreignPrivates.map(({ name, offset }) =>
      at(file, offset, `${name} of another instance: call a public member`),
    ),
  )

const longFunctions = (file: SourceFile): Breach[] => {
  const [most, reason] = FUNCTION_EXCEPTIONS[file.path] ?? [FUNCTION_LINES]
  const { functions } = syntaxOf(file)
  const longest = Math.max(0, ...functions.map(({ lines }) => lines))
  if (reason !== undefined && longest < most) return [unused(file, longest)]
  return functions.flatMap(({ offset, lines }) =>
    lines <= most ? [] : [at(file, offset, `a function of ${lines} lines; at most ${most}`)],
  )
}

const manyParameters = (file: SourceFile): Breach[] => {
  const wide = syntaxOf(file).functions.filter(({ parameters }) => parameters > PARAMETERS)
  const most = PARAMETER_EXCEPTIONS[file.path] ?? 0
  if (wide.length < most) return [unused(file, wide.length)]
  return wide.slice(most).map(({ offset, parameters }) => {
    const message = `${parameters} positional parameters; at most ${PARAMETERS}: take an object`
    return at(file, offset, message)
  })
}

const manyFields = (file: SourceFile): Breach[] =>
  syntaxOf(file).classes.flatMap(({ name, offset, mutableFields }) =>
    mutableFields <= MUTABLE_FIELDS
      ? []
      : [
          at(
            file,
            offset,
            `${name} has ${mutableFields} mutable fields; at most ${MUTABLE_FIELDS}`,
          ),
        ],
  )

/** Types of rows, and the words of options, which no file writes again: they do not count. */
const VOCABULARIES = ['plugins/views.ts', 'engine/config/shape.ts']
const manyImports = (file: SourceFile): Breach[] => {
  const targets = new Set(
    importsOf(file).flatMap(({ relative, to }) =>
      relative && !VOCABULARIES.includes(to) ? [to] : [],
    ),
  )
  const [most, reason] = IMPORT_EXCEPTIONS[file.path] ?? [IMPORTS]
  if (reason !== undefined && Number.isFinite(most) && targets.size < most)
    return [unused(file, targets.size)]
  return targets.size <= most
    ? []
    : [at(file, 0, `imports ${targets.size} files of the project; at most ${most}`)]
}

/** An exception that is larger than its file needs. */
const unused = (file: SourceFile, needed: number): Breach =>
  at(file, 0, `lower its exception in test/laws/ratchet.ts to ${needed}`)
const at = (file: SourceFile, offset: number, message: string): Breach => ({
  path: file.path,
  line: lineAt(file.text, offset),
  message,
})
