// Writes the fixtures of ../test_iceberg_go.py: tables of format v1 and v2 whose manifests and
// manifest lists are iceberg-go's, and what iceberg-go itself reads from them.
//
//	go run . FOLDER
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	_ "github.com/apache/iceberg-go/io/gocloud"
	"github.com/apache/iceberg-go/table"
)

type Entry struct {
	Manifest     string
	Status       int
	SnapshotID   int64
	Sequence     int64
	FileSequence int64
	Content      int
	FilePath     string
	Partition    map[string]string
	Count        int64
	FileSize     int64
	Nulls        map[int]int64
	Lower, Upper map[int][]byte
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func rows(from, to int, regions []string) arrow.Table {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: false},
		{Name: "region", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "price", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := from; i < to; i++ {
		builder.Field(0).(*array.Int64Builder).Append(int64(i))
		if region := regions[i%len(regions)]; region == "" {
			builder.Field(1).(*array.StringBuilder).AppendNull()
		} else {
			builder.Field(1).(*array.StringBuilder).Append(region)
		}
		builder.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(int64(i-5) * 86_400_000_000))
		builder.Field(3).(*array.Float64Builder).Append(float64(i) / 4)
	}
	return array.NewTableFromRecords(schema, []arrow.RecordBatch{builder.NewRecordBatch()})
}

func write(ctx context.Context, cat *hadoop.Catalog, name, version string, partitioned bool) {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: "ts", Type: iceberg.PrimitiveTypes.Timestamp},
		iceberg.NestedField{ID: 4, Name: "price", Type: iceberg.PrimitiveTypes.Float64},
	)
	spec := iceberg.NewPartitionSpec()
	if partitioned {
		spec = iceberg.NewPartitionSpec(
			iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}},
			iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1001, Name: "id_bucket", Transform: iceberg.BucketTransform{NumBuckets: 2}},
			iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1002, Name: "ts_year", Transform: iceberg.YearTransform{}},
		)
	}
	t := must(cat.CreateTable(ctx, table.Identifier{"db", name}, schema,
		catalog.WithPartitionSpec(&spec),
		catalog.WithProperties(iceberg.Properties{
			"format-version": version, "write.delete.mode": "merge-on-read",
		})))
	t = must(t.AppendTable(ctx, rows(0, 8, []string{"north", "", "a/b=c"}), 100, nil))
	t = must(t.AppendTable(ctx, rows(8, 12, []string{"north"}), 100, nil))
	tx := t.NewTransaction()
	if err := tx.Delete(ctx, iceberg.EqualTo(iceberg.Reference("id"), int64(9)), nil); err != nil {
		panic(err)
	}
	t = must(tx.Commit(ctx))
	dump(ctx, t)
}

func dump(ctx context.Context, t *table.Table) {
	fs := must(t.FS(ctx))
	found := []Entry{}
	for _, manifest := range must(t.CurrentSnapshot().Manifests(fs)) {
		for entry, err := range manifest.Entries(fs, false) {
			if err != nil {
				panic(err)
			}
			file := entry.DataFile()
			one := Entry{
				Manifest: filepath.Base(manifest.FilePath()), Status: int(entry.Status()),
				SnapshotID: entry.SnapshotID(), Sequence: entry.SequenceNum(),
				Content: int(file.ContentType()), FilePath: file.FilePath(),
				Partition: map[string]string{}, Count: file.Count(), FileSize: file.FileSizeBytes(),
				Nulls: file.NullValueCounts(), Lower: file.LowerBoundValues(), Upper: file.UpperBoundValues(),
			}
			if number := entry.FileSequenceNum(); number != nil {
				one.FileSequence = *number
			}
			for id, value := range file.Partition() {
				one.Partition[fmt.Sprint(id)] = fmt.Sprint(value)
			}
			found = append(found, one)
		}
	}
	folder := strings.TrimPrefix(t.Location(), "file://")
	text := must(json.MarshalIndent(found, "", " "))
	if err := os.WriteFile(filepath.Join(folder, "expected.json"), text, 0o644); err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	cat := must(hadoop.NewCatalog("fixtures", os.Args[1], nil))
	if err := cat.CreateNamespace(ctx, []string{"db"}, nil); err != nil {
		panic(err)
	}
	for _, version := range []string{"1", "2"} {
		write(ctx, cat, "plain_v"+version, version, false)
		write(ctx, cat, "partitioned_v"+version, version, true)
	}
}
