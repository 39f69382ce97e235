/** Rows of the configuration, for operators: routes as compiled, versions, problems. A JSON Schema
 *  of each, and its type. */
import {
  boolean,
  described,
  fields,
  integer,
  list,
  nullable,
  object,
  oneOf,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'

export const PROBLEM = object(
  { code: text, message: text, file: text, line: integer, column: integer },
  {
    length: integer,
    suggestion: text,
    text: described('Its message with the suggestion.', text),
    hint: described('Of an unknown key: the allowed keys, in the words of editors.', text),
  },
)
export type ProblemView = TypeOf<typeof PROBLEM>
export const ROUTE = object(
  {
    name: text,
    method: text,
    path: text,
    stages: list(text),
    options: described('By plugin, with defaults.', fields),
    upstreams: list(text),
  },
  { place: object({ file: text, line: integer }), summary: text },
)
export type RouteRow = TypeOf<typeof ROUTE>
const WORKER = object({ number: integer, pid: integer, state: text, version: integer })
const VERSION = object(
  { version: integer, hash: text, time, isLive: boolean, files: list(text) },
  { from: integer, change: text, by: object({ via: text, name: text }) },
)
export type VersionView = TypeOf<typeof VERSION>
export const STATUS = object({
  url: text,
  version: integer,
  hash: text,
  time,
  workers: list(WORKER),
  unready: list(text),
  failure: nullable(object({ time, problems: list(PROBLEM), text })),
  versions: list(VERSION),
})
export type ConfigurationView = TypeOf<typeof STATUS>
export const FILE_DIFF = object({ file: text, lines: described('Of a unified diff.', list(text)) })
export type FileDiff = TypeOf<typeof FILE_DIFF>
export const VERSION_CHANGE = object({
  version: integer,
  before: nullable(integer),
  files: list(FILE_DIFF),
})
export type VersionChange = TypeOf<typeof VERSION_CHANGE>
export const REPORT = object(
  { outcome: oneOf('live', 'unchanged'), version: integer, text },
  { time },
)
export type ReloadOutcome = TypeOf<typeof REPORT>
