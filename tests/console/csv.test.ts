import { expect, test } from 'bun:test'
import { csv } from '@/console/csv.ts'

test.each([
  ['=1+2', "'=1+2"],
  ['+1+2', "'+1+2"],
  ['-1+2', "'-1+2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\n=1+2', '"\'\n=1+2"'],
  ['＝1+2', "'＝1+2"],
  ['＠SUM(A1)', "'＠SUM(A1)"],
  ['=HYPERLINK("http://evil")', '"\'=HYPERLINK(""http://evil"")"'],
  ['-0.000012300', '-0.000012300'],
  ['12', '12'],
  ['a,b', '"a,b"'],
  ['two\nlines', '"two\nlines"'],
  ['said "no"', '"said ""no"""'],
])('a cell %j is no formula in a spreadsheet and still one cell', (text, cell) => {
  expect(csv(['name'], [[text]])).toBe(`name\r\n${cell}\r\n`)
})
