/** Limits of one function, class or file: lines, mutable fields, imports. */
import { importsOf, lineAt, type SourceFile } from './imports.ts'
import { syntaxOf } from './syntax.ts'

const FUNCTION_LINES = 60
const MUTABLE_FIELDS = 8
const IMPORTS = 15
/** Tables of entries, one import a row. */
const TABLES: Readonly<Record<string, true>> = { 'plugins/formats/index.ts': true }

interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** Checks the engine and the plugins; tests may be longer. */
export const shapeBreaches = (files: readonly SourceFile[]): Breach[] =>
  files
    .filter(({ path }) => /^(?:engine|plugins)\/.*\.(?:ts|cjs)$/.test(path))
    .flatMap(file => [...longFunctions(file), ...manyFields(file), ...manyImports(file)])

const longFunctions = (file: SourceFile): Breach[] =>
  syntaxOf(file).functions.flatMap(({ offset, lines }) =>
    lines <= FUNCTION_LINES
      ? []
      : [at(file, offset, `a function of ${lines} lines; at most ${FUNCTION_LINES}`)],
  )

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

const manyImports = (file: SourceFile): Breach[] => {
  const targets = new Set(importsOf(file).flatMap(({ relative, to }) => (relative ? [to] : [])))
  return targets.size <= IMPORTS || TABLES[file.path]
    ? []
    : [at(file, 0, `imports ${targets.size} files of the project; at most ${IMPORTS}`)]
}

const at = (file: SourceFile, offset: number, message: string): Breach => ({
  path: file.path,
  line: lineAt(file.text, offset),
  message,
})
