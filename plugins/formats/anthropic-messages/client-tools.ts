/** The provider's own tools that the client runs: its models know their schemas. Models of other
 *  providers get them as functions with these schemas. */
import type { Json } from '../../../engine/plugin.ts'

export interface ClientTool {
  readonly description: string
  readonly schema: Json
}

const text = (description: string): Json => ({ type: 'string', description })
const PATH = text('The absolute path of the file or directory.')
const VIEW_RANGE = {
  type: 'array',
  items: { type: 'integer' },
  description:
    'For `view`: the first and the last line, counted from 1; -1 is the end of the file.',
}
const INSERT_LINE = {
  type: 'integer',
  description: 'For `insert`: the text goes after this line; 0 is the start of the file.',
}
/** The members of all commands; which of them a command needs is in their descriptions. */
const commandSchema = (commands: readonly string[], members: { readonly [key: string]: Json }) => ({
  type: 'object',
  properties: { command: { type: 'string', enum: commands }, ...members },
  required: ['command'],
})
const FILE_MEMBERS = {
  path: PATH,
  file_text: text('For `create`: the whole text of the file.'),
  old_str: text('For `str_replace`: the text to replace, which occurs exactly once in the file.'),
  new_str: text('For `str_replace`: the text that replaces it.'),
  insert_line: INSERT_LINE,
  view_range: VIEW_RANGE,
}

const BASH: ClientTool = {
  description:
    'Runs a command in a bash session that persists between calls. Set `restart` to start a new session.',
  schema: {
    type: 'object',
    properties: {
      command: text('The command. Required unless `restart` is set.'),
      restart: { type: 'boolean', description: 'true starts a new session.' },
    },
  },
}
const editor = (commands: readonly string[], members: { readonly [key: string]: Json }) => ({
  description: 'Views, creates and edits text files.',
  schema: commandSchema(commands, members),
})
const FILE_COMMANDS = ['view', 'create', 'str_replace', 'insert']
const INSERT_TEXT = text('For `insert`: the text to insert.')
const EDITOR = editor(FILE_COMMANDS, { ...FILE_MEMBERS, insert_text: INSERT_TEXT })
/** Inserts `new_str`, and can undo. */
const FIRST_EDITOR = editor([...FILE_COMMANDS, 'undo_edit'], {
  ...FILE_MEMBERS,
  new_str: text('For `str_replace`: the text that replaces it. For `insert`: the text to insert.'),
})
const MEMORY: ClientTool = {
  description:
    'Reads and writes files below /memories, which persist between conversations. View /memories before other work.',
  schema: commandSchema([...FILE_COMMANDS, 'delete', 'rename'], {
    ...FILE_MEMBERS,
    path: text('The path below /memories, for all commands except `rename`.'),
    insert_text: INSERT_TEXT,
    old_path: text('For `rename`: the present path.'),
    new_path: text('For `rename`: the new path.'),
  }),
}

const TOOLS: readonly (readonly [type: RegExp, tool: ClientTool])[] = [
  [/^bash_\d{8}$/, BASH],
  [/^text_editor_(?:20241022|20250124)$/, FIRST_EDITOR],
  [/^text_editor_\d{8}$/, EDITOR],
  [/^memory_\d{8}$/, MEMORY],
]
export const clientToolOf = (type: string): ClientTool | undefined =>
  TOOLS.find(([pattern]) => pattern.test(type))?.[1]
