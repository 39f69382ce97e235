/** Finds the file that an edit belongs to, and writes its values into the text. Pure. */
import { depthIn, nameOf, setInText } from '../../config/yaml/set-in-text.ts'
import { errors } from '../../errors.ts'
import type { ConfigFiles, ConfigurationEdit, EditedFile, EditPath } from '../../plugin.ts'
import { diffOf } from './diff.ts'

const fault = errors({
  NO_FILE: [404, 'The configuration does not read the file "%s".', { param: 'file' }],
  EDIT_EXISTS: [409, '"%s" is defined already, in the file "%s".'],
  EDIT_UNKNOWN: [404, 'None of the files that can be changed here has "%s".'],
})
const YAML = /\.ya?ml$/
const SHIPPED = 'tollgate:'

/** `files`: their texts by name. Rejects as `Gateway.edit` does. */
export const editFile = (files: ConfigFiles, edit: ConfigurationEdit): EditedFile => {
  const { changes, within, isNew, near } = edit
  const path = changes[0]?.path ?? []
  const owner = fileOf(files, within ?? path, near)
  if (isNew && owner.depth === path.length) throw fault('EDIT_EXISTS', [nameOf(path), owner.name])
  if (within && owner.depth < within.length) throw fault('EDIT_UNKNOWN', [nameOf(within)])
  const file = edit.file ?? owner.name
  const before =
    YAML.test(file) && !file.startsWith(SHIPPED) && Object.hasOwn(files, file)
      ? files[file]
      : undefined
  if (before === undefined) throw fault('NO_FILE', [file])
  const text = changes.reduce((draft, { path, value }) => setInText(draft, path, value), before)
  const [diff] = diffOf({ [file]: before }, { [file]: text })
  return { file, before, text, lines: diff?.lines ?? [] }
}

/** The file that has most of the path. */
const fileOf = (files: ConfigFiles, path: EditPath, near: string | undefined) => {
  const countOf = (text: string) => (near === undefined ? 0 : text.split(near).length)
  const depths = Object.entries(files)
    .filter(([name]) => YAML.test(name) && !name.startsWith(SHIPPED))
    .map(([name, text]) => ({ name, depth: depthIn(text, path), count: countOf(text) }))
  const [best] = depths.toSorted((a, b) => b.depth - a.depth || b.count - a.count)
  return best ?? { name: '', depth: 0 }
}
