/** Draws charts with uplot; loaded on demand. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatDay } from '../format.ts'
import { type ChartData, variableOf } from './chart-series.ts'

const HEIGHT = 220
/** s */
const HALF_DAY = 43_200

/** Draws into `box`; returns a function that removes the chart. `onDay`: the index below the
 *  pointer. */
export const plot = (
  box: HTMLElement,
  data: ChartData,
  onDay: (day: number | undefined) => void,
): (() => void) => {
  const columns =
    data.kind === 'bars' ? stacked(data) : data.series.map(({ values }) => [...values])
  let chart = draw(box, data, columns, onDay)
  const redraw = () => {
    chart.destroy()
    chart = draw(box, data, columns, onDay)
  }
  const resize = new ResizeObserver(() => {
    chart.setSize({ width: box.clientWidth, height: HEIGHT })
  })
  resize.observe(box)
  const theme = new MutationObserver(redraw)
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', redraw)
  return () => {
    scheme.removeEventListener('change', redraw)
    theme.disconnect()
    resize.disconnect()
    chart.destroy()
  }
}

/** Each series on top of the ones before it; the highest first, so that lower ones cover it. */
const stacked = ({ series, days }: ChartData): number[][] => {
  const sums = days.map(() => 0)
  return series
    .map(({ values }) =>
      values.map((value, index) => {
        sums[index] = (sums[index] ?? 0) + value
        return sums[index] ?? 0
      }),
    )
    .reverse()
}

/** Steps of the axis of lines, which are counts. */
const WHOLE = Array.from({ length: 12 }, (_, digits) =>
  [1, 2, 5].map(step => step * 10 ** digits),
).flat()

const draw = (
  box: HTMLElement,
  { days, series, kind, format }: ChartData,
  columns: number[][],
  onDay: (day: number | undefined) => void,
): uPlot => {
  const style = getComputedStyle(box)
  const colour = (name: string): string => resolved(box, style.getPropertyValue(name))
  const [line, muted] = [colour('--line'), colour('--muted')]
  const axis = { stroke: muted, ticks: { show: false }, font: `12px ${style.fontFamily}` }
  const names = series.map((each, index) => ({ ...each, fill: colour(variableOf(each, index)) }))
  if (kind === 'bars') names.reverse()
  const bars = uPlot.paths.bars?.({ size: [0.7, 40], gap: 1 })
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      tzDate: at => uPlot.tzDate(new Date(at * 1_000), 'UTC'),
      legend: { show: false },
      cursor: { y: false, points: { show: kind === 'lines' } },
      scales: {
        // The bars of the first and the last day are as wide as the others.
        x: { range: (_, first, last) => [first - HALF_DAY, last + HALF_DAY] },
        y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, splits) => splits.map(at => formatDay(at * 1_000)),
          size: 36,
          gap: 8,
          incrs: [1, 2, 4, 7, 14, 30].map(count => count * 86_400),
          space: 64,
        },
        {
          ...axis,
          grid: { stroke: line, width: 1 },
          values: (_, splits) => splits.map(format),
          size: kind === 'lines' ? 48 : 84,
          ...(kind === 'lines' && { incrs: WHOLE }),
          gap: 8,
        },
      ],
      series: [
        {},
        ...names.map(({ name, fill }) => ({
          label: name,
          stroke: fill,
          width: kind === 'lines' ? 2 : 0,
          ...(kind === 'bars' && bars ? { fill, paths: bars } : {}),
          points: { show: kind === 'lines' && days.length < 40 },
        })),
      ],
      hooks: { setCursor: [({ cursor }) => onDay(cursor.idx ?? undefined)] },
    },
    [[...days], ...columns],
    box,
  )
}

/** A canvas does not know `light-dark()`: the browser computes the colour of an element instead. */
const resolved = (box: HTMLElement, value: string): string => {
  const probe = document.createElement('span')
  probe.style.color = value
  box.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
