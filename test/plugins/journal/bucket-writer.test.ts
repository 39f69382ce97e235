/** The journal in a bucket, over a service that checks every signature: objects of lines, their
 *  bounds and their removal; records that are found again; a bucket that is slow or fails. */
import t, { type Test } from 'tap'
import { parseS3Address, S3Store } from '../../../plugins/file-store/s3-store.ts'
import { BucketWriter, linesOfBucket, sweepBucket } from '../../../plugins/journal/bucket-writer.ts'
import { findRecord } from '../../../plugins/journal/find-record.ts'
import { checkSection } from '../../../plugins/journal/problems.ts'
import { SECTION } from '../../../plugins/journal/section.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { startS3 } from '../files/s3-server.ts'

const start = async (t: Test) => {
  const s3 = await startS3(t)
  const { store: to, access_key, secret_key } = s3.settings
  const store = new S3Store(parseS3Address(to, 'to'), {
    accessKey: access_key,
    secretKey: secret_key,
  })
  const losses: Record<string, number> = {}
  const metrics = {
    count: (_: string, { reason = '' }: Readonly<Record<string, string>>, by = 1) => {
      losses[reason] = (losses[reason] ?? 0) + by
    },
  }
  const writer = new BucketWriter({ store, log: SILENT_LOG, metrics, lossMetric: 'lost' })
  t.teardown(() => writer.close())
  const section = SECTION.read({ to, access_key, secret_key })
  return { s3, store, writer, losses, section }
}
const lineOf = (id: string): string => `${JSON.stringify({ id, status: 200 })}\n`
const NEVER = new AbortController().signal

t.test('journal in a bucket: an object has the lines so far, and records are found', async t => {
  const { s3, store, writer, losses, section } = await start(t)
  for (const id of ['a', 'b']) writer.write(lineOf(id))
  writer.flush()
  writer.write(lineOf('c'))
  await writer.close()
  t.equal(s3.objects.size, 2)
  const [first = ''] = [...s3.objects.keys()]
  t.match(first, /^some\/folder\/\d{4}-\d\d-\d\d\/[^/]+-1\.jsonl$/)
  t.equal(s3.objects.get(first)?.bytes.toString(), lineOf('a') + lineOf('b'))
  const lines: string[] = []
  for await (const line of linesOfBucket(store)) if (line !== '') lines.push(line)
  t.same(
    lines.map(line => JSON.parse(line).id),
    ['c', 'a', 'b'],
    'the latest object first',
  )
  const host = { folder: () => '' }
  t.match(await findRecord(host, section, 'b'), { id: 'b' })
  await t.rejects(findRecord(host, section, 'd'), { code: 'JOURNAL_UNKNOWN' })
  t.same(losses, {})
})

t.test('journal in a bucket: what is old or too much is removed', async t => {
  const { s3, store, writer } = await start(t)
  for (const id of ['a', 'b', 'c']) {
    writer.write(lineOf(id))
    writer.flush()
    await writer.close()
  }
  const [old, , latest] = [...s3.objects.values()]
  if (old) old.modified -= 100_000
  if (latest) latest.modified += 10
  await sweepBucket(store, { keep: 50_000, size: 1_000_000 }, Date.now(), NEVER)
  t.equal(s3.objects.size, 2)
  await sweepBucket(store, { keep: 50_000, size: lineOf('c').length }, Date.now(), NEVER)
  t.same(
    [...s3.objects.values()].map(({ bytes }) => bytes.toString()),
    [lineOf('c')],
  )
})

t.test('journal in a bucket: one that is slow or fails costs lines, which are counted', async t => {
  const { s3, writer, losses } = await start(t)
  const failing = [503, 503, 503, 503]
  s3.failures.push(...failing)
  writer.write(lineOf('a'))
  writer.flush()
  const large = `${'x'.repeat(1024 * 1024)}\n`
  for (let count = 0; count < 10; count++) writer.write(large)
  t.equal(losses.dropped, 3, 'at most 8 MiB wait')
  await writer.close()
  t.equal(losses.failed, 1)
  const sizes = [...s3.objects.values()].map(({ bytes }) => bytes.length)
  t.same(sizes, [7 * large.length])
})

t.test('journal in a bucket: wrong options are problems', async t => {
  const problemsOf = (journal: object) => {
    const problems: string[] = []
    checkSection(
      { journal } as never,
      (at, code, message) => void problems.push(`${at.join('.')} ${code} ${message}`),
    )
    return problems
  }
  const keys = { access_key: 'a', secret_key: 'b' }
  t.same(problemsOf({ to: 's3://logs/journal?region=eu-1', ...keys }), [])
  t.match(problemsOf({ to: 's3://logs' }), [/journal\.to JOURNAL_OPTION a bucket needs/])
  t.match(problemsOf({ to: 'file:journal', ...keys }), [/only a bucket/])
  t.match(problemsOf({ to: 's3://lo gs', ...keys }), [/write it as s3:/])
  for (const to of ['s3://b/p?endpont=x', 's3:///p', 's3://b:x/p', 's3://'])
    t.same(
      problemsOf({ to, ...keys }),
      ['journal.to JOURNAL_OPTION journal.to must be s3://BUCKET/PREFIX?endpoint=URL&region=R'],
      to,
    )
  t.match(problemsOf({ to: 's3://b?endpoint=ftp://x', ...keys }), [
    /^journal\.to JOURNAL_OPTION the endpoint of journal\.to must be an http\(s\) URL$/,
  ])
})
