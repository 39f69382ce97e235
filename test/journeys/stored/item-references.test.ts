/** Item references: replaced by the item if it belongs to the account, refused by id otherwise. The
 *  upstream stores nothing that it could look up. */
import t from 'tap'
import { message, plain, refused, response, streamed } from '../../helpers/stored.ts'
import { mine, other, sentBody, upstream } from './stored-gateway.ts'

const refer = (id: string) => ({ type: 'item_reference', id }) as const
const ask = (model: string, input: object[], more: object = {}) =>
  mine.responses.create({ model, input, ...more } as never)

t.test('item reference: is resolved without a previous response at any upstream', async t => {
  await upstream.script('gp', plain(response('resp_one', 'Paris', { store: false })))
  await mine.responses.create({ model: 'gp', input: 'Capital of France?' })
  const [question] = (await mine.responses.inputItems.list('resp_one')).data
  const { id: conversation } = await mine.conversations.create({
    items: [{ type: 'message', role: 'user', content: 'I like rivers.' }],
  })
  const [preference] = (await mine.conversations.items.list(conversation)).data
  const input = [
    refer(preference?.id ?? ''),
    refer(question?.id ?? ''),
    // An object with only an id is a reference, too.
    { id: 'msg_resp_one' },
    { role: 'user', content: 'And its river?' },
  ]
  const order = /I like rivers.*Capital of France.*Paris.*And its river/
  await upstream.script('cl', plain(message('Seine')))
  const second = await ask('cl', input)
  t.match(JSON.stringify((await sentBody('cl')).messages), order)
  await upstream.script('gp', plain(response('resp_two', 'Seine')))
  await ask('gp', input)
  const body = await sentBody('gp')
  t.match(JSON.stringify(body.input), order)
  t.notMatch(JSON.stringify(body), /item_reference/)
  t.equal(body.store, false)
  // The resolved items are stored, not the references.
  await upstream.script('gp', plain(response('resp_three', 'Long')))
  await ask('gp', [refer('msg_resp_one'), { role: 'user', content: 'Is it long?' }], {
    previous_response_id: second.id,
  })
  const third = JSON.stringify((await sentBody('gp')).input)
  t.match(third, /I like rivers.*Capital of France.*Paris.*And its river.*Seine.*Is it long/)
  t.equal(third.split('Paris').length, 2, 'once, in its original position')
})

t.test('item reference: finds an item of a streamed response', async t => {
  const finalResponse = response('resp_streamed', 'Oslo')
  await upstream.script(
    'gp',
    streamed({ type: 'response.completed', response: finalResponse } as never),
  )
  for await (const _ of await mine.responses.create({ model: 'gp', input: 'x', stream: true }));
  t.equal((await sentBody('gp')).store, false)
  await upstream.script('cl', plain(message('ok')))
  await ask('cl', [refer('msg_resp_streamed'), { role: 'user', content: 'Why?' }])
  t.match(JSON.stringify((await sentBody('cl')).messages), /Oslo.*Why/)
})

t.test('item reference: an unknown id is refused by name before any upstream call', async t => {
  await upstream.script('gp', plain(response('resp_r', 'Rome')))
  await mine.responses.create({ model: 'gp', input: 'x' })
  await upstream.forget()
  const unknown = (id: string) => ({
    type: 'invalid_request_error',
    param: 'input',
    message: new RegExp(`'${id}' not found`),
  })
  for (const id of ['msg_none', 'msg_resp_r_7', 'fc_resp_r_0', '_0', "'"])
    for (const model of ['gp', 'cl']) await refused(t, ask(model, [refer(id)]), 404, unknown(id))
  await refused(
    t,
    other.responses.create({ model: 'gp', input: [refer('msg_resp_r')] }),
    404,
    unknown('msg_resp_r'),
  )
  await refused(t, ask('gp', [refer('msg_none')], { background: true }), 404)
  await mine.responses.delete('resp_r')
  await refused(t, ask('gp', [refer('msg_resp_r')]), 404, unknown('msg_resp_r'))
  t.same(await upstream.seen('body'), [])
})

t.test('item reference: repeated references count towards the size limit', async t => {
  await upstream.script('gp', plain(response('resp_large', 'x'.repeat(200_000))))
  await mine.responses.create({ model: 'gp', input: 'x' })
  await refused(t, ask('gp', Array(200).fill(refer('msg_resp_large'))), 400, {
    param: 'input',
    code: 'context_length_exceeded',
  })
})
