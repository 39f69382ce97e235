/** The lines of a model's price on the page of models: of a meter, a discount, the least price. */
import t from 'tap'
import { millionOf, pricesOfLine } from '../../../plugins/console/client/model-prices.ts'

t.test(
  'line of a price: without a meter it is a discount, or the least price of a call',
  async t => {
    const discount = { factor: '0.5', when: { off_peak: true } }
    t.same(pricesOfLine({ discount }), ['discount (factor) 0.5', 'discount (when, off_peak) true'])
    t.same(pricesOfLine({ min: '0.01' }), ['min 0.01'])
  },
)

t.test('line of a price: each case of one that depends on the request', async t => {
  const price = { low: { default: '0.01' }, default: '0.04' }
  const texts = ['images (low, default) 0.01', 'images (default) 0.04']
  t.same(pricesOfLine({ meter: 'images', price }), texts)
  t.same(pricesOfLine({ meter: 'input', price: '2 / 1M' }), ['input 2 / 1M'])
})

t.test('price of a million: that of a request which names no attribute', async t => {
  const million = (prices: object[]) => millionOf({ prices }, 'input')
  t.equal(million([{ min: '1' }, { meter: 'input', price: '2 / 1M' }]), 2)
  t.equal(million([{ meter: 'input', price: { default: '3 / 1M', flex: '1 / 1M' } }]), 3)
  t.equal(million([{ meter: 'input', price: '2 / 1k' }]), undefined)
  t.equal(
    millionOf({ prices: [{ meter: 'input', price: '2 / 1M' }], free: true }, 'input'),
    undefined,
  )
})
