/** Advice on a configuration without problems: the rules of the engine and of plugins, as problems
 *  with a severity, without those that the file or the operator ignores. */
import type { Problem } from '../../config/problem.ts'
import type { Reading } from '../../config/read.ts'
import type { Plugins } from '../../config/schema.ts'
import { createValidator } from '../../config/validation/validator.ts'
import type { Advise, Document, Severity } from '../../plugin.ts'
import { ENGINE_RULES } from './engine-rules.ts'

export interface AdviceOptions {
  readonly reading: Reading
  /** The document with converted variables. */
  readonly document: Document
  readonly plugins: Plugins
  /** Codes that the operator ignores. */
  readonly ignore: readonly string[]
  readonly cacheFolder: string
}
export interface Advice {
  readonly findings: readonly Problem[]
  /** Number of findings that a comment or an option ignores. */
  readonly ignored: number
}

export const adviceOn = (options: AdviceOptions): Advice => {
  const { reading, document, plugins, ignore } = options
  const findings: Problem[] = []
  const advise: Advise = (where, severity, code, message) =>
    findings.push({ code, message, severity, ...reading.find(where).place('value') })
  const secrets = secretsIn(options)
  for (const rule of ENGINE_RULES) rule({ document, reading, secrets, advise })
  for (const plugin of plugins.values()) plugin.lint?.(document, advise)
  const remaining = findings.filter(
    finding => !ignore.includes(finding.code) && !isIgnoredByComment(finding, reading),
  )
  return { findings: remaining, ignored: findings.length - remaining.length }
}

/** Values that the schema marks as passwords. */
const secretsIn = ({ document, plugins, cacheFolder }: AdviceOptions): ReadonlySet<string> =>
  createValidator(plugins, [], cacheFolder).validate(document).secrets

/** `# lint-ignore CODE …` on the line of a finding or the line before it;
 *  `# lint-ignore-file CODE …` anywhere in its file. */
const isIgnoredByComment = ({ file, line, code }: Problem, { files }: Reading): boolean => {
  const lines = (files.get(file) ?? '').split(/\r\n|\r|\n/)
  const near = [lines[line - 1], lines[line - 2]?.trimStart().startsWith('#') && lines[line - 2]]
  return (
    near.some(text => typeof text === 'string' && namesIn(text, LINE_COMMENT).includes(code)) ||
    lines.some(text => namesIn(text, FILE_COMMENT).includes(code))
  )
}
const LINE_COMMENT = /#\s*lint-ignore[ :]+([^#]*)/
const FILE_COMMENT = /#\s*lint-ignore-file[ :]+([^#]*)/
const namesIn = (text: string, comment: RegExp): readonly string[] =>
  comment.exec(text)?.[1]?.match(/[A-Z][A-Z0-9_]+/g) ?? []

export const SEVERITIES: readonly Severity[] = ['info', 'warning', 'error']
/** Whether a severity is at least as high as another. */
export const isAtLeast = (severity: Severity, minimum: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(minimum)
