/** The journal of a process alone: its bounded queue, consents that end, records that cannot be
 *  made, texts that are redacted in every member; wrong options. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { HostBase, Outcome } from '../../../engine/plugin.ts'
import { Journal } from '../../../plugins/journal/journal.ts'
import { checkSection } from '../../../plugins/journal/problems.ts'
import type { CallRecord } from '../../../plugins/journal/record.ts'
import { Redaction } from '../../../plugins/journal/redaction.ts'
import { SECTION } from '../../../plugins/journal/section.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { inMemory } from '../../helpers/in-memory.ts'

const OUTCOME = {} as Outcome
const recordOf = (line: string, more: Partial<CallRecord> = {}) =>
  ({ size: 10, account: 7, lineOf: async () => line, ...more }) as CallRecord

const startJournal = (section: object) => {
  const folder = mkdtempSync(join(inMemory(), 'journal-'))
  const losses: string[] = []
  let consents: readonly number[] = []
  const host = {
    folder: () => folder,
    log: SILENT_LOG,
    membership: { leaving: new AbortController().signal },
    metrics: {
      count: (_: string, { reason }: { readonly reason: string }) => void losses.push(reason),
    },
    database: { read: async () => consents.map(account => ({ account, since: 1 })) },
  } as unknown as HostBase
  const journal = new Journal(host, SECTION.read(section))
  const close = async () => {
    await journal.close()
    return readdirSync(folder).flatMap(name =>
      readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1),
    )
  }
  const consent = (...accounts: readonly number[]) => {
    consents = accounts
    return journal.readConsents()
  }
  return { journal, losses, close, consent }
}

t.test('journal: a full queue drops calls and counts them', async t => {
  const { journal, losses, close } = startJournal({ consent: 'all' })
  let release = () => {}
  const waiting = new Promise<void>(resolve => {
    release = resolve
  })
  const last = Promise.withResolvers<void>()
  const first = recordOf('', { lineOf: () => waiting.then(() => '"first"') })
  journal.add(first, OUTCOME)
  for (let count = 1; count < 1_005; count++)
    journal.add(
      recordOf('', {
        lineOf: async () => {
          if (count === 1_000) last.resolve()
          return String(count)
        },
      }),
      OUTCOME,
    )
  t.same(losses, ['queue', 'queue', 'queue', 'queue'])
  release()
  await last.promise
  t.equal((await close()).length, 1_001)
})

t.test('journal: calls that are too large together are dropped', async t => {
  const { journal, losses, close } = startJournal({ consent: 'all' })
  for (let count = 0; count < 5; count++)
    journal.add(recordOf('1', { size: 10 * 1024 * 1024 }), OUTCOME)
  t.ok(losses.length >= 1)
  await close()
})

t.test('journal: a consent that ends counts for calls that wait', async t => {
  const { journal, close, consent } = startJournal({})
  t.notOk(journal.mayWrite(7))
  t.notOk(journal.mayWrite(undefined))
  await consent(7, 8)
  t.ok(journal.mayWrite(7))
  const done = Promise.withResolvers<void>()
  journal.add(recordOf('"before"'), OUTCOME)
  const later = recordOf('', {
    account: 8,
    lineOf: async () => {
      done.resolve()
      return '"other"'
    },
  })
  await consent(8)
  journal.add(later, OUTCOME)
  await done.promise
  t.same(await close(), ['"other"'])
})

t.test('journal: a call that cannot be read is counted, and the next one is written', async t => {
  const { journal, losses, close } = startJournal({ consent: 'all' })
  const done = Promise.withResolvers<void>()
  const broken = recordOf('', {
    lineOf: async () => {
      throw new Error('no')
    },
  })
  journal.add(broken, OUTCOME)
  const good = recordOf('', {
    lineOf: async () => {
      done.resolve()
      return '1'
    },
  })
  journal.add(good, OUTCOME)
  await done.promise
  t.same([await close(), losses], [['1'], ['unreadable']])
})

t.test('journal: redacts names, values and calls of tools, whatever their escapes', async t => {
  const redaction = new Redaction(['email', 'card'])
  const answer = await redaction.answer({
    choices: [
      {
        stop: { reason: 'call' },
        logprobs: { content: [{ token: 'a@b.example' }] },
        content: [
          {
            type: 'call',
            id: '1',
            name: 'pay',
            input: '{"to":"x\\u0040y.com","n":4111111111111111}',
          },
        ],
      },
    ],
  })
  t.same(answer.choices[0]?.content, [
    { type: 'call', id: '1', name: 'pay', input: '{"to":"[EMAIL]","n":"[CARD]"}' },
  ])
  t.notMatch(JSON.stringify(answer), 'a@b')
  t.same(redaction.json({ a: [{ b: 'x@y.com' }, 1, null, true] }), {
    a: [{ b: '[EMAIL]' }, 1, null, true],
  })
  const none = new Redaction([])
  t.equal(none.json('x@y.com'), 'x@y.com')
})

t.test('journal: wrong names and a missing stage are problems', async t => {
  const problems: string[] = []
  const document = {
    journal: { rules: [{ models: ['gp-*', 'gone'], routes: ['chat', 'losses'] }] },
    pipeline: ['errors'],
    models: { 'gp-4.1': {} },
    routes: [{ name: 'chat' }],
  }
  checkSection(document as never, (at, code, message) =>
    problems.push(`${at.join('.')} ${code} ${message}`),
  )
  t.same(problems, [
    'journal JOURNAL_OPTION no call is written: `pipeline:` has no `journal`; add it behind `guard`',
    'journal.rules.0.models JOURNAL_OPTION no model is named "gone"',
    'journal.rules.0.routes JOURNAL_OPTION no route is named "losses"',
  ])
  checkSection({ pipeline: [] } as never, () => t.fail('no section, no problem'))
})
