/** Changes of the configuration by operations: the files are the only store. A change is shown as a
 *  diff, checked, saved and put live. */
import { createHash } from 'node:crypto'
import { flag, text } from '../../../engine/config/shape.ts'
import { isCode } from '../../../engine/kit.ts'
import type { CommandOption, CommandResult, ConfigurationEdit } from '../../../engine/plugin.ts'
import type { ConfigurationChange } from '../../views.ts'
import { fault } from '../faults.ts'
import type { Context } from '../operation.ts'

/** Arguments of each operation that changes files. */
export const EDIT_ARGUMENTS = {
  file: text(
    'The file to change, relative to the folder of routes.yaml; by default the one that has such entries.',
    {
      maxLength: 400,
    },
  ),
  preview: flag('Only shows the change and its problems; nothing is saved.'),
  hash: text('`hash` of the preview: if the file was changed since, nothing is saved.', {
    pattern: '^[0-9a-f]{64}$',
  }),
}
/** Options of each command that changes files. */
export const EDIT_OPTIONS: Readonly<Record<string, CommandOption>> = {
  file: { type: 'string', value: 'FILE', summary: 'the file to change' },
  'dry-run': { type: 'boolean', summary: 'show the change only' },
}
export const editValues = (values: Readonly<Record<string, unknown>>) => ({
  ...(typeof values.file === 'string' && { file: values.file }),
  ...(values['dry-run'] === true && { preview: true }),
})

interface EditArguments {
  readonly file?: string
  readonly preview?: boolean
  readonly hash?: string
}
/** Throws what `Gateway.edit` throws, EDIT_CONFLICT, EDIT_PROBLEMS, EDIT_NOT_LIVE. */
export const changeFile = async (
  { host: { gateway }, store }: Context,
  { file: target, preview, hash: expected }: EditArguments,
  edit: ConfigurationEdit,
): Promise<{ readonly data: ConfigurationChange }> => {
  const edited = await gateway.edit({ ...edit, ...(target !== undefined && { file: target }) })
  const { file, before, text: after, lines } = edited
  const hash = digestOf(before)
  if (expected !== undefined && expected !== hash) throw fault('EDIT_CONFLICT', [file])
  const shared = { file, lines, hash }
  if (lines.length === 0)
    return { data: { ...shared, state: 'unchanged', problems: [], version: null } }
  const problems = (await gateway.check(after, file)).map(each => ({
    file: each.file,
    line: each.line,
    column: each.column,
    text: each.text ?? each.message,
  }))
  if (preview) return { data: { ...shared, state: 'preview', problems, version: null } }
  const [problem] = problems
  if (problem) {
    const { line, column } = problem
    throw fault('EDIT_PROBLEMS', [problem.file, line, column, problem.text])
  }
  await gateway.save(file, after, before).catch(error => {
    throw isCode(error, 'FILE_CHANGED') ? fault('EDIT_CONFLICT', [file]) : error
  })
  // Digests only: the texts may contain secrets.
  await store.change([], {
    object: `file ${file}`,
    before: { sha256: hash },
    after: { sha256: digestOf(after) },
  })
  const version = await goLive(gateway, file)
  const state = version === null ? 'saved' : 'live'
  return { data: { ...shared, state, problems: [], version } }
}
const digestOf = (content: string): string => createHash('sha256').update(content).digest('hex')

/** The live version; null: no gateway runs here, and one that does loads the file by itself. */
const goLive = async (
  gateway: Pick<Context['host']['gateway'], 'reload'>,
  file: string,
): Promise<number | null> => {
  try {
    const { outcome, version, text: report } = await gateway.reload()
    if (outcome === 'problems') throw fault('EDIT_NOT_LIVE', [file, version, report])
    return version
  } catch (error) {
    if (isCode(error, 'NO_GATEWAY')) return null
    throw error
  }
}

const ENDINGS: Readonly<Record<ConfigurationChange['state'], string>> = {
  preview: 'Nothing was saved.',
  live: 'It is live.',
  saved: 'Saved. A running gateway loads it now.',
  unchanged: 'The file has it already.',
}
export const printChange = (change: ConfigurationChange): CommandResult => {
  const { state, file, lines, problems } = change
  const places = problems.map(each => `${each.file}:${each.line}:${each.column} ${each.text}`)
  const parts = [file, ...lines, '', ...places, ENDINGS[state]]
  return { text: parts.join('\n'), json: change, exit: problems.length > 0 ? 1 : 0 }
}
