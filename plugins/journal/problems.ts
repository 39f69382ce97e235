/** Problems of the section `journal:` that its schema cannot see. */
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { parseS3Address } from '../file-store/s3-store.ts'

export const checkSection = (document: Document, report: Report): void => {
  const { journal, pipeline, models } = document
  if (!isFields(journal)) return
  if (Array.isArray(pipeline) && !pipeline.includes('journal'))
    report(
      ['journal'],
      'JOURNAL_OPTION',
      'no call is written: `pipeline:` has no `journal`; add it behind `guard`',
    )
  checkBucket(journal, report)
  const rules = Array.isArray(journal.rules) ? journal.rules.filter(isFields) : []
  const routeNames = routesIn(document).flatMap(([, { name }]) =>
    typeof name === 'string' ? [name] : [],
  )
  for (const [index, rule] of rules.entries()) {
    checkNames(rule.models, Object.keys(isFields(models) ? models : {}), name =>
      report(
        ['journal', 'rules', index, 'models'],
        'JOURNAL_OPTION',
        `no model is named "${name}"`,
      ),
    )
    checkNames(rule.routes, routeNames, name =>
      report(
        ['journal', 'rules', index, 'routes'],
        'JOURNAL_OPTION',
        `no route is named "${name}"`,
      ),
    )
  }
}
const checkBucket = (
  { to, access_key, secret_key }: Readonly<Record<string, unknown>>,
  report: Report,
): void => {
  const isBucket = typeof to === 'string' && to.startsWith('s3://')
  if (isBucket && (!access_key || !secret_key))
    report(['journal', 'to'], 'JOURNAL_OPTION', 'a bucket needs `access_key` and `secret_key`')
  if (!isBucket && (access_key ?? secret_key) !== undefined)
    report(['journal', 'to'], 'JOURNAL_OPTION', 'only a bucket (`s3://`) has keys')
  const fault = isBucket ? faultOfBucket(to) : undefined
  if (fault !== undefined) report(['journal', 'to'], 'JOURNAL_OPTION', fault)
}
/** Undefined: its address can be read. */
const faultOfBucket = (to: string): string | undefined => {
  if (/^s3:\/\/[^?]*[\s{}]/.test(to)) return 'write it as s3://BUCKET/PREFIX?region=R'
  try {
    parseS3Address(to, 'journal.to')
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
/** Names with `*` fit what comes later. */
const checkNames = (
  names: unknown,
  known: readonly string[],
  onUnknown: (name: string) => void,
): void => {
  for (const name of Array.isArray(names) ? names : [])
    if (typeof name === 'string' && !name.endsWith('*') && !known.includes(name)) onUnknown(name)
}
