/** Conversation items: added, read, paged and deleted with the official client. */
import type { ConversationItem } from 'openai/resources/conversations/items'
import t from 'tap'
import { plainReply, rejectsWith, responseBody } from '../../helpers/gateway/stored-responses.ts'
import { otherClient, ownClient, sentBody, upstream } from './stored-gateway.ts'

const { items } = ownClient.conversations

const messageItem = (role: 'user' | 'assistant', content: string) =>
  ({ type: 'message', role, content }) as const
const textOf = (item: ConversationItem) =>
  item.type === 'message' && item.content[0] && 'text' in item.content[0]
    ? item.content[0].text
    : ''
const allTexts = async (id: string) => {
  const texts: string[] = []
  for await (const item of items.list(id, { order: 'asc', limit: 2 })) texts.push(textOf(item))
  return texts
}

t.test(
  'conversation items: are added, read and deleted without changing the ids of others',
  async t => {
    const { id } = await ownClient.conversations.create({
      items: [messageItem('user', 'one'), messageItem('user', 'two')],
    })
    const addition = await items.create(id, {
      items: [
        messageItem('user', 'three'),
        messageItem('assistant', 'four'),
        messageItem('user', 'five'),
      ],
    })
    t.match(addition, {
      object: 'list',
      has_more: false,
      data: [{ role: 'user' }, { role: 'assistant' }, {}],
    })
    t.equal(addition.first_id, addition.data[0]?.id)
    t.same(await allTexts(id), ['one', 'two', 'three', 'four', 'five'], 'in order, page after page')

    const [three, four, five] = addition.data.map(item => item.id ?? '')
    if (!three || !four || !five) throw new Error('an item without an id')
    const conversation = { conversation_id: id }
    t.match(await items.retrieve(four, conversation), {
      id: four,
      role: 'assistant',
      content: [{ type: 'output_text', text: 'four' }],
    })
    t.match(await items.delete(four, conversation), { id, object: 'conversation', metadata: {} })
    await rejectsWith(t, items.retrieve(four, conversation), 404, {
      type: 'invalid_request_error',
      message: new RegExp(four),
    })
    await rejectsWith(t, items.delete(four, conversation), 404)
    t.equal(textOf(await items.retrieve(five, conversation)), 'five', 'by its id')
    // Concurrent deletions in one turn do not undo each other.
    await Promise.all([items.delete(three, conversation), items.delete(five, conversation)])
    t.same(await allTexts(id), ['one', 'two'])
  },
)

t.test('conversation items: include answers, and deleted ones are not sent again', async t => {
  const { id } = await ownClient.conversations.create()
  await upstream.script(
    'gp',
    plainReply(responseBody('resp_i1', 'Ada')),
    plainReply(responseBody('resp_i2', 'Who?')),
  )
  await ownClient.responses.create({ model: 'gp', input: 'A name?', conversation: id })
  const [ada] = (await items.list(id)).data
  t.equal(ada && textOf(ada), 'Ada')
  await items.create(id, { items: [messageItem('user', 'I have met her.')] })
  await items.delete(ada?.id ?? '', { conversation_id: id })
  await ownClient.responses.create({ model: 'gp', input: 'And you?', conversation: id })
  const input = JSON.stringify((await sentBody('gp')).input)
  t.match(input, /A name\?.*I have met her.*And you/)
  t.notMatch(input, 'Ada')
  t.same(await allTexts(id), ['A name?', 'I have met her.', 'And you?', 'Who?'])
})

t.test('conversation: an update replaces its metadata', async t => {
  const { id } = await ownClient.conversations.create({ metadata: { a: 'b' } })
  t.match(await ownClient.conversations.update(id, { metadata: { c: 'd' } }), {
    id,
    metadata: { c: 'd' },
  })
  t.same((await ownClient.conversations.retrieve(id)).metadata, { c: 'd' })
  t.same((await ownClient.conversations.update(id, { metadata: null })).metadata, {})
})

t.test('conversation: refuses invalid requests and other accounts', async t => {
  const { id } = await ownClient.conversations.create({ items: [messageItem('user', 'mine')] })
  const [item] = (await items.list(id)).data
  const conversation = { conversation_id: id }
  await rejectsWith(t, items.create(id, { items: [] }), 400, { param: 'items' })
  await rejectsWith(t, items.create(id, {} as never), 400, { param: 'items' })
  await rejectsWith(t, items.create(id, { items: [{ content: 'x' }] as never }), 400)
  await rejectsWith(t, items.create(id, { items: Array(21).fill(messageItem('user', 'x')) }), 400, {
    param: 'items',
  })
  await rejectsWith(
    t,
    items.create(id, { items: [messageItem('user', 'x'.repeat(300_000))] }),
    400,
    {
      param: 'items',
    },
  )
  await rejectsWith(t, items.retrieve('msg_none', conversation), 404)
  await rejectsWith(t, items.create('conv_none', { items: [messageItem('user', 'x')] }), 404)
  await rejectsWith(t, ownClient.conversations.update('conv_none', { metadata: {} }), 404)
  for (const call of [
    () => otherClient.conversations.items.retrieve(item?.id ?? '', conversation),
    () => otherClient.conversations.items.delete(item?.id ?? '', conversation),
    () => otherClient.conversations.items.create(id, { items: [messageItem('user', 'x')] }),
    () => otherClient.conversations.update(id, { metadata: {} }),
  ])
    await rejectsWith(t, call(), 404)
  t.same(await allTexts(id), ['mine'])
})

const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' } as const
const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' } as const
const content = (part: object) => ({ type: 'message', role: 'user', content: [part] })
/** Items that every response of their conversation would refuse, and the member at fault. */
const UNUSABLE: readonly (readonly [item: object, param: string])[] = [
  [{ type: 'message', role: 'user' }, 'items[1].content'],
  [content({ type: 'weird', text: 'x' }), 'items[1].content[0]'],
  [content({ type: 'input_text' }), 'items[1].content[0].text'],
  [content({ type: 'input_image', image_url: 'data:image/png;base64,@@' }), 'items[1].content[0]'],
  [content({ type: 'input_file' }), 'items[1].content[0].file_data'],
  [{ type: 'function_call', call_id: 'c' }, 'items[1].name'],
  [{ ...call, arguments: 7 }, 'items[1].arguments'],
  [output, 'items[1].call_id'],
  [{ ...output, type: 'custom_tool_call_output' }, 'items[1].call_id'],
  [{ type: 'computer_call_output', call_id: 'call_0', output: {} }, 'items[1].call_id'],
  [{ type: 'reasoning', summary: 7 }, 'items[1].summary'],
  [{ type: 'image_generation_call', result: 7 }, 'items[1].result'],
  [{ type: 'compaction', encrypted_content: 7 }, 'items[1].encrypted_content'],
]

t.test('conversation items: an item that no request can use is refused', async t => {
  const { id } = await ownClient.conversations.create()
  for (const [item, param] of UNUSABLE) {
    const list = [messageItem('user', 'x'), item] as never
    await rejectsWith(t, items.create(id, { items: list }), 400, { param })
    await rejectsWith(t, ownClient.conversations.create({ items: list }), 400, { param })
  }
  const reference = { type: 'item_reference', id: 'msg_none' } as never
  await rejectsWith(t, items.create(id, { items: [reference] }), 404, { param: 'items' })
  t.same(await allTexts(id), [])
})

t.test(
  'conversation items: results of calls before, and items by reference, are taken',
  async t => {
    const { id } = await ownClient.conversations.create({ items: [call] })
    t.equal((await items.create(id, { items: [output] })).data.length, 1)
    t.equal((await items.create(id, { items: [call, output] })).data.length, 2)
    const [first] = (await items.create(id, { items: [messageItem('user', 'one')] })).data
    const reference = { type: 'item_reference', id: first?.id } as never
    t.match((await items.create(id, { items: [reference] })).data, [{ role: 'user' }])
    await rejectsWith(t, otherClient.conversations.create({ items: [reference] }), 404)
  },
)
