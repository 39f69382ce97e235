/** Endpoints of the editor of routes.yaml, which `console: { edit: true }` switches on: files,
 *  schema, check, save. */
import { createHash } from 'node:crypto'
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { PROBLEM } from '../../rows/configuration.ts'
import { fields, list as listOf, map, object, text } from '../../shapes.ts'
import { fault } from '../faults.ts'
import { mayEdit } from '../section.ts'
import { type AdminCall, type AdminEndpoints, type AdminResult, bodyOf } from './endpoint.ts'

type Run = (call: AdminCall, host: HostBase) => Promise<AdminResult>
const onlyWhereOn =
  (run: Run): Run =>
  async (call, host) => {
    if (!mayEdit(host)) throw fault('ADMIN_EDIT')
    return run(call, host)
  }

/** Only texts that make the configuration: a schema beside it is not YAML. */
const EDITABLE = /\.ya?ml$/
const files: Run = async (_, { gateway }) => {
  const texts = await gateway.files()
  const entries = Object.entries(texts).filter(([name]) => EDITABLE.test(name))
  return { data: Object.fromEntries(entries) }
}
const schema: Run = async (_, { gateway }) => ({ data: await gateway.schema() })

const check: Run = async ({ body }, { gateway }) => {
  const problems = await gateway.check(String(body.text), String(body.file))
  return { data: JSON.parse(JSON.stringify(problems)) as Json }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
/** The log gets digests: the texts may contain secrets. */
const save: Run = async ({ body }, { gateway }) => {
  const [file, text, before] = [body.file, body.text, body.before].map(String) as [
    string,
    string,
    string,
  ]
  const [problem] = (await gateway.check(text, file)).filter(each => each.file === file)
  if (problem) {
    const { line, column, message, text = message } = problem
    throw fault('ADMIN_PROBLEMS', [file, line, column, text])
  }
  await gateway.save(file, text, before)
  const change = { before: { file, sha256: digestOf(before) }, after: { sha256: digestOf(text) } }
  return { data: { file, sha256: digestOf(text) }, change }
}

const FILE = { type: 'string', maxLength: 400, pattern: '^[^\\u0000]{1,400}$' }
const TEXT = { type: 'string', maxLength: 4_000_000 }
export const editorEndpoints: AdminEndpoints = {
  'GET editor/files': {
    summary: 'Returns the texts of routes.yaml and its includes on the disk.',
    data: map(text),
    reveals: () => 'the files of the configuration',
    run: onlyWhereOn(files),
  },
  'GET editor/schema': {
    summary: 'Returns the JSON Schema of routes.yaml with the keys of all plugins.',
    data: fields,
    run: onlyWhereOn(schema),
  },
  'POST editor/check': {
    summary: 'Returns the problems that the configuration would have with this text of a file.',
    body: bodyOf({ file: FILE, text: TEXT }, ['file', 'text']),
    isQuiet: true,
    data: listOf(PROBLEM),
    run: onlyWhereOn(check),
  },
  'POST editor/save': {
    summary: 'Saves the text of a file, unless it has problems or the file was changed meanwhile.',
    body: bodyOf(
      {
        file: FILE,
        text: TEXT,
        before: { ...TEXT, description: 'The text that was edited: the file must still have it.' },
      },
      ['file', 'text', 'before'],
    ),
    data: object({ file: text, sha256: text }),
    run: onlyWhereOn(save),
  },
}
