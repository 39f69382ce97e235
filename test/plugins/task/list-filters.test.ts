/** The filters of Vidu's list, on both stores: they do what they say, or are refused by name. */
import t from 'tap'
import { ENGINES } from '../../helpers/store/store.ts'
import { startTasks } from './task-gateway.ts'

for (const engine of ENGINES)
  t.test(`list filters on ${engine}: show what they name`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = ({ method, path, body }, count) => {
      if (method === 'POST') return { json: { task_id: `${body.prompt}-${count}` } }
      const state = path.includes('bad') ? 'failed' : 'processing'
      return { json: { state, creations: [] } }
    }
    const create = async (body: object) => String((await gateway.create(body)).json.task_id)
    const good = await create({ prompt: 'good', resolution: '720p' })
    const bad = await create({ prompt: 'bad', resolution: '1080p' })
    const other = await create({ prompt: 'good', model: 'mixed' })
    await gateway.reach(bad, 'failed')
    await gateway.reach(good, 'processing')
    await gateway.reach(other, 'processing')
    const idsOf = async (query: string) => {
      const { status, json } = await gateway.call('GET', `/tasks?${query}`)
      t.equal(status, 200, query)
      return (json.tasks as unknown as { id: string }[]).map(({ id }) => id)
    }
    const all = [other, bad, good]
    for (const [query, ids] of [
      ['states=failed', [bad]],
      ['states=success', []],
      ['states=failed,processing', all],
      ['states=failed&states=processing', all],
      [`task_ids=${good}`, [good]],
      [`task_ids=${good},${bad}&states=failed`, [bad]],
      ['task_ids=1', []],
      ['templates=text2video', all],
      ['templates=img2video,headtailimg2video', []],
      ['model_versions=mixed', [other]],
      ['model_versions=none', []],
      ['resolutions=720p', [good]],
      ['resolutions=720p,1080p&pager.pagesz=1', [bad]],
      ['resolutions=720p,1080p&pager.pagesz=1&pager.page=1', [good]],
      ['states=', all],
      ['created_at.to=2020-01-01T00:00:00Z', []],
    ] as const)
      t.same(await idsOf(query), ids, query)
    for (const query of [
      'states=done',
      'task_ids=abc',
      'templates=film',
      'resolutions=large',
      'model_versions=a%20b',
      'created_at.from=yesterday',
      'created_at.until=2020-01-01',
      'pager.size=3',
      'state=failed',
      'model=mixed',
      'task_id=1',
      'type=text2video',
    ]) {
      const { status, json } = await gateway.call('GET', `/tasks?${query}`)
      t.equal(status, 400, query)
      t.match(JSON.stringify(json), query.split('=')[0] ?? '')
    }
  })
